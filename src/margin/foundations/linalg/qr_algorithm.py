"""The QR algorithm: eigenvalues and eigenvectors of any square matrix, through its Schur form.

1. Reflections bring A to Hessenberg form, zero below the first subdiagonal (10n^3/3 operations).
2. Shifted QR steps, n plane rotations each, drive the subdiagonal to zero: :math:`A = ZTZ^*` with T upper triangular,
   whose diagonal are the eigenvalues. Two to three steps per eigenvalue are usual, so O(n^3) in all.
3. The eigenvectors of T come from backward substitution; Z carries them back.

Complex arithmetic throughout: one kind of step serves real and complex eigenvalues.
"""

from __future__ import annotations

import numpy as np

from margin.foundations.linalg.arguments import Array
from margin.foundations.linalg.triangular import backward_substitution

__all__ = ["hessenberg", "qr_eig", "schur"]

EPS = float(np.finfo(float).eps)
STEPS_PER_EIGENVALUE = 60
# Every so many steps without a deflation the shift is replaced by an arbitrary one: it breaks the rare cycles.
EXCEPTIONAL_SHIFT_EVERY = 10


def qr_eig(A: Array) -> tuple[Array, Array]:
    """Eigenvalues and unit eigenvectors (columns) of a square matrix, complex, in the order of its Schur form."""
    T, Z = schur(A)
    vectors = Z @ _triangular_eigenvectors(T)
    return np.diag(T).copy(), vectors / np.linalg.norm(vectors, axis=0)


def hessenberg(A: Array) -> tuple[Array, Array]:
    r"""H and unitary Q with :math:`A = QHQ^*` and H zero below its first subdiagonal."""
    H = np.array(A, dtype=complex)
    n = len(H)
    Q = np.eye(n, dtype=complex)
    for k in range(n - 2):
        v = _reflector(H[k + 1 :, k])
        H[k + 1 :, k:] -= 2 * np.outer(v, v.conj() @ H[k + 1 :, k:])
        H[:, k + 1 :] -= 2 * np.outer(H[:, k + 1 :] @ v, v.conj())
        Q[:, k + 1 :] -= 2 * np.outer(Q[:, k + 1 :] @ v, v.conj())
        H[k + 2 :, k] = 0.0
    return H, Q


def schur(A: Array) -> tuple[Array, Array]:
    r"""Upper-triangular T and unitary Z with :math:`A = ZTZ^*`."""
    T, Z = hessenberg(A)
    size = float(np.linalg.norm(T))
    last, steps = len(T) - 1, 0
    while last > 0:
        first = _active_block(T, last, size)
        if first == last:
            last, steps = last - 1, 0
            continue
        steps += 1
        if steps > STEPS_PER_EIGENVALUE:
            raise np.linalg.LinAlgError(f"eig: no convergence after {STEPS_PER_EIGENVALUE} steps for one eigenvalue.")
        if steps % EXCEPTIONAL_SHIFT_EVERY == 0:
            shift = T[last, last] + abs(T[last, last - 1])
        else:
            shift = _wilkinson_shift(T[last - 1 : last + 1, last - 1 : last + 1])
        _qr_step(T, Z, first, last, shift)
    return np.triu(T), Z


def _reflector(x: Array) -> Array:
    """The unit v for which ``x - 2 v (v* x)`` is a multiple of the first basis vector (zero if x already is zero)."""
    v = x.copy()
    phase = x[0] / abs(x[0]) if x[0] != 0 else 1.0
    v[0] += phase * np.linalg.norm(x)  # same sign: no cancellation
    length = np.linalg.norm(v)
    return v / length if length > 0 else v


def _active_block(T: Array, last: int, size: float) -> int:
    """Set negligible subdiagonal entries to zero; the first row of the unreduced block that ends in ``last``."""
    for k in range(last, 0, -1):
        neighbors = abs(T[k - 1, k - 1]) + abs(T[k, k])
        if abs(T[k, k - 1]) <= EPS * (neighbors if neighbors > 0 else size):
            T[k, k - 1] = 0.0
            return k
    return 0


def _wilkinson_shift(block: Array) -> complex:
    """The eigenvalue of the last 2 x 2 block that is nearer to its last entry."""
    (a, b), (c, d) = block
    half, root = (a + d) / 2, np.sqrt(((a - d) / 2) ** 2 + b * c)
    return complex(min(half + root, half - root, key=lambda value: abs(value - d)))


def _qr_step(T: Array, Z: Array, first: int, last: int, shift: complex) -> None:
    """One step ``T - shift = QR``, ``T <- RQ + shift`` on rows first..last, applied to the whole of T and to Z."""
    diagonal = np.arange(len(T))
    T[diagonal, diagonal] -= shift
    rotations = []
    for k in range(first, last):
        length = np.hypot(abs(T[k, k]), abs(T[k + 1, k]))
        c, s = (T[k, k] / length, T[k + 1, k] / length) if length > 0 else (1.0 + 0j, 0j)
        G = np.array([[np.conj(c), np.conj(s)], [-s, c]])
        T[k : k + 2, k:] = G @ T[k : k + 2, k:]
        rotations.append(G.conj().T)
    for k, Gh in enumerate(rotations, start=first):
        rows = min(k + 2, last) + 1
        T[:rows, k : k + 2] = T[:rows, k : k + 2] @ Gh
        Z[:, k : k + 2] = Z[:, k : k + 2] @ Gh
    T[diagonal, diagonal] += shift


def _triangular_eigenvectors(T: Array) -> Array:
    r"""Column k solves :math:`(T - \lambda_k I)x = 0` with :math:`x_k = 1` and zeros below."""
    n = len(T)
    # A repeated eigenvalue makes the system singular; the smallest perturbation that is not lost to rounding gives
    # a vector that is an eigenvector to working precision (for a defective matrix, a nearly parallel one).
    smallest = max(EPS * float(np.linalg.norm(T)), float(np.finfo(float).tiny))
    X = np.eye(n, dtype=complex)
    for k in range(1, n):
        system = T[:k, :k] - T[k, k] * np.eye(k)
        gaps = np.diag(system)
        np.fill_diagonal(system, np.where(np.abs(gaps) < smallest, smallest, gaps))
        X[:k, k] = backward_substitution(system, -T[:k, k])
    return X
