
// What the hardware does by itself.
#define CT_NATIVE(name, function, T, as)                                                 \
    CT_INLINE T atomic_##name(T& place, T value) {                                       \
        return T(::function(reinterpret_cast<as*>(&place), static_cast<as>(value)));                  \
    }
#define CT_NATIVE_INTEGERS(name, function)                                               \
    CT_NATIVE(name, function, i32, int)                                                  \
    CT_NATIVE(name, function, u32, unsigned)                                             \
    CT_NATIVE(name, function, u64, unsigned long long)
CT_NATIVE_INTEGERS(add, atomicAdd)
CT_NATIVE(add, atomicAdd, i64, unsigned long long)
CT_NATIVE(add, atomicAdd, float, float)
CT_NATIVE(add, atomicAdd, double, double)
CT_NATIVE_INTEGERS(and, atomicAnd)
CT_NATIVE(and, atomicAnd, i64, unsigned long long)
CT_NATIVE_INTEGERS(or, atomicOr)
CT_NATIVE(or, atomicOr, i64, unsigned long long)
CT_NATIVE_INTEGERS(xor, atomicXor)
CT_NATIVE(xor, atomicXor, i64, unsigned long long)
CT_NATIVE_INTEGERS(min, atomicMin)
CT_NATIVE(min, atomicMin, i64, long long)
CT_NATIVE_INTEGERS(max, atomicMax)
CT_NATIVE(max, atomicMax, i64, long long)
CT_NATIVE_INTEGERS(exchange, atomicExch)
CT_NATIVE(exchange, atomicExch, i64, unsigned long long)
CT_NATIVE(exchange, atomicExch, float, float)
#undef CT_NATIVE_INTEGERS
#undef CT_NATIVE

// Adds to a place that is probably the same for all lanes of a warp. If all are here and it is, they add up before, and one adds.
#define CT_TOGETHER(T)                                                                   \
    CT_INLINE void atomic_add_together(T& place, T value) {                              \
        int same = 0;                                                                    \
        const auto address = reinterpret_cast<unsigned long long>(&place);               \
        const bool all = __activemask() == 0xffffffffu;                                  \
        if (all) __match_all_sync(0xffffffffu, address, &same);                          \
        if (!same) {                                                                     \
            atomic_add(place, value);                                                    \
            return;                                                                      \
        }                                                                                \
        for (int distance = 16; distance; distance /= 2)                                 \
            value += __shfl_xor_sync(0xffffffffu, value, distance);                      \
        unsigned lane;                                                                   \
        asm("mov.u32 %0, %%laneid;" : "=r"(lane));                                       \
        if (lane == 0) atomic_add(place, value);                                         \
    }
CT_TOGETHER(float)
CT_TOGETHER(double)
#undef CT_TOGETHER
