#ifndef COTANGENT_PRELUDE
#define COTANGENT_PRELUDE
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#if defined(__GNUC__)
#define CT_INLINE inline __attribute__((always_inline))
#define CT_COLD __attribute__((noinline, cold))
#define CT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define CT_INLINE inline
#define CT_COLD
#define CT_UNLIKELY(x) (x)
#endif
#define CT_FN inline
#define CT_RESTRICT
#define CT_F(name) std::name
#define CT_D(name) std::name

// What happens when a program stops on purpose. Define it before this file to do something else; it must not return.
#ifndef COTANGENT_TRAP
#define COTANGENT_TRAP(what) (std::fprintf(stderr, "trap: %s\n", what), std::abort())
#endif

namespace ct {

using i8 = std::int8_t; using i16 = std::int16_t; using i32 = std::int32_t; using i64 = std::int64_t;
using u8 = std::uint8_t; using u16 = std::uint16_t; using u32 = std::uint32_t; using u64 = std::uint64_t;
using usize = std::size_t;
using std::conditional_t; using std::decay_t; using std::enable_if_t; using std::index_sequence;
using std::is_arithmetic_v; using std::is_empty_v; using std::is_floating_point_v; using std::is_integral_v;
using std::is_same_v; using std::is_signed_v; using std::make_index_sequence; using std::make_unsigned_t;
using std::memcpy;
template <class T> constexpr T infinity() { return std::numeric_limits<T>::infinity(); }
template <class T> constexpr T not_a_number() { return std::numeric_limits<T>::quiet_NaN(); }

[[noreturn]] CT_COLD inline void trap(int line, const char* what) {
    char text[200];
    std::snprintf(text, sizeof text, line ? "line %d: %s" : "%.0d%s", line, what);
    COTANGENT_TRAP(text);
    std::abort();
}

[[noreturn]] CT_COLD inline void outside(int line, i64, u64) { trap(line, "index out of bounds"); }

// A value of interface type came from outside with a number that no type has.
[[noreturn]] CT_COLD inline void unknown_type(int line, u32 id, const char* known) {
    char text[200];
    std::snprintf(text, sizeof text, "unknown type %lu of an interface value: %s", static_cast<unsigned long>(id), known);
    trap(line, text);
}

// Thread groups from `first` up to, not including, `end`.
struct Groups {
    u32 first[3], end[3];
};

// How a vector lies in memory: packed.
template <class T, int N> constexpr usize vec_align = alignof(T);
template <class T, int N> constexpr int vec_room = N;

inline u16 half_bits(float x) {
    u32 b; memcpy(&b, &x, 4);
    u32 sign = b >> 16 & 0x8000u, mag = b & 0x7fffffffu;
    if (mag > 0x7f800000u) return u16(sign | 0x7e00u | (mag >> 13 & 0x3ffu));
    if (mag >= 0x47800000u) return u16(sign | 0x7c00u);
    if (mag < 0x33000000u) return u16(sign);
    int exponent = int(mag >> 23) - 127;
    u32 fraction = (mag & 0x7fffffu) | 0x800000u;
    int shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
    u32 kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), tie = 1u << (shift - 1);
    if (rest > tie || (rest == tie && (kept & 1))) kept++;
    u32 base = exponent < -14 ? 0 : u32(exponent + 14) << 10;
    return u16(sign | (base + kept));
}
inline float half_value(u16 h) {
    u32 sign = u32(h & 0x8000u) << 16, e = h >> 10 & 31u, f = h & 0x3ffu, b;
    if (e == 31) b = sign | 0x7f800000u | f << 13;
    else if (e) b = sign | (e + 112) << 23 | f << 13;
    else { float x = float(f) * (1.0f / 16777216.0f); memcpy(&b, &x, 4); b |= sign; }
    float x; memcpy(&x, &b, 4); return x;
}

// Changes what is at a place in one step; gives what was there.
template <class T, class F> CT_INLINE T atomic_update(T& place, F f) {
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "atomic operations take 16, 32 or 64 bits");
#if defined(__GNUC__)
    using U = conditional_t<sizeof(T) == 2, u16, conditional_t<sizeof(T) == 4, u32, u64>>;
    U* at = reinterpret_cast<U*>(&place);
    U bits = __atomic_load_n(at, __ATOMIC_RELAXED);
    for (;;) {
        T old; memcpy(&old, &bits, sizeof(T));
        const T made = f(old);
        U wanted; memcpy(&wanted, &made, sizeof(T));
        if (__atomic_compare_exchange_n(at, &bits, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
    }
#else
    static_assert(sizeof(T) == 0, "atomic operations need GCC or Clang");
#endif
}
