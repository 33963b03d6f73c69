# Numbers that several threads read and write at once: what margin.core.atomic_kernels means in compiled code.
# All of it is sequentially consistent: what a thread has written before it stores, adds or clears here is seen by every
# thread that has read the result.

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static __inline long long margin_load(long long *at) { return _InterlockedOr64(at, 0); }
    static __inline long long margin_exchange(long long *at, long long value) { return _InterlockedExchange64(at, value); }
    static __inline long long margin_add(long long *at, long long value) { return _InterlockedExchangeAdd64(at, value); }
    static __inline long long margin_and(long long *at, long long value) { return _InterlockedAnd64(at, value); }
    #if defined(_M_ARM64)
    #define margin_pause() __yield()
    #else
    #define margin_pause() _mm_pause()
    #endif
    #else
    static inline long long margin_load(long long *at) { return __atomic_load_n(at, __ATOMIC_SEQ_CST); }
    static inline long long margin_exchange(long long *at, long long value) {
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
    }
    static inline long long margin_add(long long *at, long long value) {
        return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
    }
    static inline long long margin_and(long long *at, long long value) {
        return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);
    }
    #if defined(__x86_64__) || defined(__i386__)
    #define margin_pause() __builtin_ia32_pause()
    #elif defined(__aarch64__) || defined(__arm__)
    #define margin_pause() __asm__ __volatile__("yield")
    #else
    #define margin_pause() ((void) 0)
    #endif
    #endif
    """
    long long margin_load(long long *at) noexcept nogil
    long long margin_exchange(long long *at, long long value) noexcept nogil
    long long margin_add(long long *at, long long value) noexcept nogil
    long long margin_and(long long *at, long long value) noexcept nogil
    void margin_pause() noexcept nogil


cdef inline long long load_atomic(long long[::1] array, Py_ssize_t at) noexcept nogil:
    return margin_load(&array[at])


cdef inline void store_atomic(long long[::1] array, Py_ssize_t at, long long value) noexcept nogil:
    margin_exchange(&array[at], value)


cdef inline long long add_atomic(long long[::1] array, Py_ssize_t at, long long value) noexcept nogil:
    return margin_add(&array[at], value)


cdef inline long long clear_atomic(long long[::1] array, Py_ssize_t at, long long bits) noexcept nogil:
    return margin_and(&array[at], ~bits)


cdef inline void pause() noexcept nogil:
    margin_pause()
