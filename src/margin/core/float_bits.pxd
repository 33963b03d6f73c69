# The bits of a float as an integer, and back: what margin.core.float_bits_kernels means in compiled code.

cdef extern from *:
    """
    #include <string.h>
    static inline long long margin_bits_of(double x) { long long bits; memcpy(&bits, &x, 8); return bits; }
    static inline double margin_float_of(long long bits) { double x; memcpy(&x, &bits, 8); return x; }
    """
    long long bits_of "margin_bits_of"(double x) noexcept nogil
    double float_of "margin_float_of"(long long bits) noexcept nogil
