"""Linear algebra: products, adjoints, orthogonality, spectra, factorizations, systems, low rank.

Definitions and algorithms as pure functions of arrays, in the order in which one would read them. Cholesky, LU and the
substitutions spend their time in matrix products; eigenvalues and singular values come from LAPACK or, on request, from
readable implementations of Jacobi's method and the QR algorithm.
"""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from margin.foundations.linalg.adjoints import DotProductTest, adjoint, adjoint_pair
    from margin.foundations.linalg.definiteness import (
        is_positive_definite,
        principal_submatrices,
        random_positive_definite,
    )
    from margin.foundations.linalg.determinants import adjugate, determinant
    from margin.foundations.linalg.diagonalization import (
        Eigendecomposition,
        diagonalize,
        eigendecompose,
        is_diagonalizable,
    )
    from margin.foundations.linalg.exponential import (
        expm,
        linear_ode_solution,
        logm,
        logm_partial_sums,
        spectral_radius,
    )
    from margin.foundations.linalg.factorizations import LU, cholesky, is_diagonally_dominant, lu
    from margin.foundations.linalg.function_space import (
        INFINITE_COUNTERPART,
        brownian_kernel,
        discretized_operator,
        midpoints,
        operator_eigenvalues,
    )
    from margin.foundations.linalg.hyperplanes import project_to_hyperplane, signed_distance
    from margin.foundations.linalg.interpolation import interpolate_linear, splat_linear
    from margin.foundations.linalg.inverses import SingularityReport, inverse, singularity_report
    from margin.foundations.linalg.least_squares import (
        loaded_least_squares,
        normal_equations,
        squared_error,
        squared_error_gradient,
    )
    from margin.foundations.linalg.low_rank import CompressedImage, stored_numbers, svd_compress, svd_terms
    from margin.foundations.linalg.operators import (
        IntegrationByParts,
        divergence,
        fourier,
        gradient,
        integration_by_parts,
        inverse_fourier,
        laplacian,
    )
    from margin.foundations.linalg.orthogonal import classify_orthogonal, is_orthogonal, random_orthogonal, rotation
    from margin.foundations.linalg.products import OuterProducts, column_images, matmul_inner, matmul_outer
    from margin.foundations.linalg.series import PartialSums, exp_series, log_partial_sums, log_series
    from margin.foundations.linalg.solving import TwoStepSolution, cholesky_solve, lu_solve, solve, svd_solve
    from margin.foundations.linalg.spectra import SVD, Eigen, characteristic_polynomial, eig, eigh, is_eigenpair, svd
    from margin.foundations.linalg.triangular import backward_substitution, forward_substitution
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "INFINITE_COUNTERPART",
    "LU",
    "SVD",
    "CompressedImage",
    "DotProductTest",
    "Eigen",
    "Eigendecomposition",
    "IntegrationByParts",
    "OuterProducts",
    "PartialSums",
    "SingularityReport",
    "TwoStepSolution",
    "adjoint",
    "adjoint_pair",
    "adjugate",
    "backward_substitution",
    "brownian_kernel",
    "characteristic_polynomial",
    "cholesky",
    "cholesky_solve",
    "classify_orthogonal",
    "column_images",
    "determinant",
    "diagonalize",
    "discretized_operator",
    "divergence",
    "eig",
    "eigendecompose",
    "eigh",
    "exp_series",
    "expm",
    "forward_substitution",
    "fourier",
    "gradient",
    "integration_by_parts",
    "interpolate_linear",
    "inverse",
    "inverse_fourier",
    "is_diagonalizable",
    "is_diagonally_dominant",
    "is_eigenpair",
    "is_orthogonal",
    "is_positive_definite",
    "laplacian",
    "linear_ode_solution",
    "loaded_least_squares",
    "log_partial_sums",
    "log_series",
    "logm",
    "logm_partial_sums",
    "lu",
    "lu_solve",
    "matmul_inner",
    "matmul_outer",
    "midpoints",
    "normal_equations",
    "operator_eigenvalues",
    "principal_submatrices",
    "project_to_hyperplane",
    "random_orthogonal",
    "random_positive_definite",
    "rotation",
    "signed_distance",
    "singularity_report",
    "solve",
    "spectral_radius",
    "splat_linear",
    "squared_error",
    "squared_error_gradient",
    "stored_numbers",
    "svd",
    "svd_compress",
    "svd_solve",
    "svd_terms",
]
