# BLAS for kernels, by the functions that SciPy offers to Cython; margin.core.blas_kernels does the same in Python.

from scipy.linalg.cython_blas cimport dgemm


cdef inline void multiply_transposed(double[:, ::1] A, double[:, ::1] B, Py_ssize_t rows, double[::1] out) noexcept nogil:
    # BLAS reads by columns: there the rows of A and B are columns, and the product is transposed.
    cdef int k = <int> A.shape[0]
    cdef int m = <int> rows
    cdef int d = <int> A.shape[1]
    cdef double one = 1.0
    cdef double zero = 0.0
    if k > 0 and m > 0 and d > 0:
        dgemm("T", "N", &m, &k, &d, &one, &B[0, 0], &d, &A[0, 0], &d, &zero, &out[0], &m)
