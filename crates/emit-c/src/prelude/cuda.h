#ifndef COTANGENT_PRELUDE
#define COTANGENT_PRELUDE
// NVRTC knows printf and memcpy by itself and has no headers; nvcc finds them here.
#ifndef __CUDACC_RTC__
#include <cstdio>
#include <cstring>
#endif
#define CT_INLINE __device__ __forceinline__
#define CT_COLD __noinline__
#define CT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CT_FN __device__ inline
#define CT_RESTRICT __restrict__
#define CT_F(name) ::name##f
#define CT_D(name) ::name

// What happens when a program stops on purpose. Define it before this file to do something else; it must not return.
#ifndef COTANGENT_TRAP
#define COTANGENT_TRAP(line, what) (printf("trap: line %d: %s\n", line, what), __trap())
#endif

// The same for an index that is not below the count. By default it is like any other stop.
#ifndef COTANGENT_OUTSIDE
#define COTANGENT_OUTSIDE(line, index, count) COTANGENT_TRAP(line, "index out of bounds")
#endif

namespace ct {

using i8 = signed char; using i16 = short; using i32 = int; using i64 = long long;
using u8 = unsigned char; using u16 = unsigned short; using u32 = unsigned; using u64 = unsigned long long;
using usize = decltype(sizeof(int));
using ::memcpy;

// What C++ has in <type_traits>, for a file that includes nothing.
template <bool C, class A, class B> struct conditional { using type = A; };
template <class A, class B> struct conditional<false, A, B> { using type = B; };
template <bool C, class A, class B> using conditional_t = typename conditional<C, A, B>::type;
template <bool C, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool C, class T = void> using enable_if_t = typename enable_if<C, T>::type;
template <class A, class B> constexpr bool is_same_v = false;
template <class A> constexpr bool is_same_v<A, A> = true;
template <class T> struct decay { using type = T; };
template <class T> struct decay<const T> { using type = T; };
template <class T> struct decay<T&> { using type = typename decay<T>::type; };
template <class T> using decay_t = typename decay<T>::type;
template <class T> constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T> constexpr bool is_integral_v = false;
template <class T> struct make_unsigned { using type = T; };
#define CT_INTEGER(T, U) \
    template <> constexpr bool is_integral_v<T> = true; template <> constexpr bool is_integral_v<U> = true; \
    template <> struct make_unsigned<T> { using type = U; };
CT_INTEGER(i8, u8)
CT_INTEGER(i16, u16)
CT_INTEGER(i32, u32)
CT_INTEGER(long, unsigned long)
CT_INTEGER(i64, u64)
#undef CT_INTEGER
template <> constexpr bool is_integral_v<bool> = true;
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T> constexpr bool is_signed_v = is_arithmetic_v<T> && T(-1) < T(0);
template <> constexpr bool is_signed_v<bool> = false;
template <class T> constexpr bool is_empty_v = __is_empty(T);
template <usize... I> struct index_sequence {};
template <usize N, usize... I> struct make_sequence { using type = typename make_sequence<N - 1, N - 1, I...>::type; };
template <usize... I> struct make_sequence<0, I...> { using type = index_sequence<I...>; };
template <usize N> using make_index_sequence = typename make_sequence<N>::type;
template <class T> CT_INLINE T infinity() { return T(__int_as_float(0x7f800000)); }
template <class T> CT_INLINE T not_a_number() { return T(__int_as_float(0x7fc00000)); }

CT_COLD CT_FN void trap(int line, const char* what) {
    COTANGENT_TRAP(line, what);
    __builtin_unreachable();
}

CT_COLD CT_FN void outside(int line, i64 index, u64 count) {
    (void)index, (void)count;
    COTANGENT_OUTSIDE(line, index, count);
    __builtin_unreachable();
}

// A value of interface type came from outside with a number that no type has.
CT_COLD CT_FN void unknown_type(int line, u32, const char*) { trap(line, "unknown type of an interface value"); }

struct half;
// How a vector lies in memory: as CUDA's own do. There are no vectors of three or four halves: they are two pairs.
template <class T, int N> constexpr usize vec_align =
    N == 1 || N == 3 ? alignof(T) : N * sizeof(T) > 16 ? 16 : N * sizeof(T);
template <int N> constexpr usize vec_align<half, N> = N == 1 ? 2 : 4;
template <class T, int N> constexpr int vec_room = N;
template <> constexpr int vec_room<half, 3> = 4;

CT_INLINE u16 half_bits(float x) { u16 bits; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x)); return bits; }
CT_INLINE float half_value(u16 bits) { float x; asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits)); return x; }

// Changes what is at a place in one step; gives what was there.
template <class T, class F> CT_INLINE T atomic_update(T& place, F f) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "atomic operations take 16, 32 or 64 bits");
    using U = conditional_t<sizeof(T) == 2, u16, conditional_t<sizeof(T) == 4, u32, u64>>;
    U* at = reinterpret_cast<U*>(&place);
    U bits = *reinterpret_cast<volatile U*>(at);
    for (;;) {
        T old; memcpy(&old, &bits, sizeof(T));
        const T made = f(old);
        U wanted; memcpy(&wanted, &made, sizeof(T));
        const U found = atomicCAS(at, bits, wanted);
        if (found == bits) return old;
        bits = found;
    }
}

// The variables of the group in so many bytes, set to zero by all threads of it together.
template <class T> CT_INLINE T& group(unsigned char* bytes) {
    const u32 threads = blockDim.x * blockDim.y * blockDim.z;
    const u32 self = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    for (usize i = self; i < sizeof(T); i += threads) bytes[i] = 0;
    __syncthreads();
    return *reinterpret_cast<T*>(bytes);
}
