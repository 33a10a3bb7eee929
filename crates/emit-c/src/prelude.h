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

// What happens when a program stops on purpose. Define it before this file to do something else; it must not return.
#ifndef COTANGENT_TRAP
#define COTANGENT_TRAP(what) (std::fprintf(stderr, "trap: %s\n", what), std::abort())
#endif

namespace ct {

[[noreturn]] CT_COLD inline void trap(int line, const char* what) {
    char text[200];
    std::snprintf(text, sizeof text, line ? "line %d: %s" : "%.0d%s", line, what);
    COTANGENT_TRAP(text);
    std::abort();
}

// A value of interface type came from outside with a number that no type has.
[[noreturn]] CT_COLD inline void unknown_type(int line, std::uint32_t id, const char* known) {
    char text[200];
    std::snprintf(text, sizeof text, "unknown type %lu of an interface value: %s", static_cast<unsigned long>(id), known);
    trap(line, text);
}
// What a value of interface type holds, between bytes and a type.
template <class T> CT_INLINE T get_bytes(const unsigned char* data) {
    T value{};
    if constexpr (!std::is_empty_v<T>) std::memcpy(&value, data, sizeof value);
    return value;
}
template <class T> CT_INLINE void put_bytes(unsigned char* data, const T& value) {
    if constexpr (!std::is_empty_v<T>) std::memcpy(data, &value, sizeof value);
}

// The index `i` of one of `count` elements, checked unless COTANGENT_UNCHECKED is defined.
template <class I> CT_INLINE std::size_t at(I i, std::size_t count, int line) {
#ifndef COTANGENT_UNCHECKED
    if (CT_UNLIKELY(static_cast<std::size_t>(i) >= count)) trap(line, "index out of bounds");
#else
    (void)count; (void)line;
#endif
    return static_cast<std::size_t>(i);
}

// Binary16, held by its bits; arithmetic is done in float.
struct half {
    std::uint16_t bits;
    half() = default;
    CT_INLINE half(float x) : bits(from(x)) {}
    CT_INLINE operator float() const { return to(bits); }
    static CT_INLINE half raw(std::uint16_t b) { half h; h.bits = b; return h; }
    static inline std::uint16_t from(float x) {
        std::uint32_t b; std::memcpy(&b, &x, 4);
        std::uint32_t sign = b >> 16 & 0x8000u, mag = b & 0x7fffffffu;
        if (mag > 0x7f800000u) return std::uint16_t(sign | 0x7e00u | (mag >> 13 & 0x3ffu));
        if (mag >= 0x47800000u) return std::uint16_t(sign | 0x7c00u);
        if (mag < 0x33000000u) return std::uint16_t(sign);
        int exponent = int(mag >> 23) - 127;
        std::uint32_t fraction = (mag & 0x7fffffu) | 0x800000u;
        int shift = exponent < -14 ? 13 + (-14 - exponent) : 13;
        std::uint32_t kept = fraction >> shift, rest = fraction & ((1u << shift) - 1), tie = 1u << (shift - 1);
        if (rest > tie || (rest == tie && (kept & 1))) kept++;
        std::uint32_t base = exponent < -14 ? 0 : std::uint32_t(exponent + 14) << 10;
        return std::uint16_t(sign | (base + kept));
    }
    static inline float to(std::uint16_t h) {
        std::uint32_t sign = std::uint32_t(h & 0x8000u) << 16, e = h >> 10 & 31u, f = h & 0x3ffu, b;
        if (e == 31) b = sign | 0x7f800000u | f << 13;
        else if (e) b = sign | (e + 112) << 23 | f << 13;
        else { float x = float(f) * (1.0f / 16777216.0f); std::memcpy(&b, &x, 4); b |= sign; }
        float x; std::memcpy(&x, &b, 4); return x;
    }
};
CT_INLINE half operator+(half a, half b) { return half(float(a) + float(b)); }
CT_INLINE half operator-(half a, half b) { return half(float(a) - float(b)); }
CT_INLINE half operator*(half a, half b) { return half(float(a) * float(b)); }
CT_INLINE half operator/(half a, half b) { return half(float(a) / float(b)); }
CT_INLINE half operator-(half a) { return half::raw(std::uint16_t(a.bits ^ 0x8000u)); }

template <class T, int N> struct Vec {
    T v[N];
    CT_INLINE T& operator[](std::size_t i) { return v[i]; }
    CT_INLINE const T& operator[](std::size_t i) const { return v[i]; }
};
template <class T, int R, int C> struct Mat {
    Vec<T, C> v[R];
    CT_INLINE Vec<T, C>& operator[](std::size_t i) { return v[i]; }
    CT_INLINE const Vec<T, C>& operator[](std::size_t i) const { return v[i]; }
};
template <class T, std::size_t N> struct Array {
    T v[N ? N : 1];
    CT_INLINE T& operator[](std::size_t i) { return v[i]; }
    CT_INLINE const T& operator[](std::size_t i) const { return v[i]; }
};
// Elements that the host owns.
template <class T> struct Buffer {
    T* data;
    std::size_t count;
    template <class I> CT_INLINE T& at(I i, int line) const { return data[ct::at(i, count, line)]; }
};
// Thread groups from `first` up to, not including, `end`.
struct Groups {
    std::uint32_t first[3], end[3];
};
struct Unit {};

using float2 = Vec<float, 2>; using float3 = Vec<float, 3>; using float4 = Vec<float, 4>;
using int2 = Vec<std::int32_t, 2>; using int3 = Vec<std::int32_t, 3>; using int4 = Vec<std::int32_t, 4>;
using uint2 = Vec<std::uint32_t, 2>; using uint3 = Vec<std::uint32_t, 3>; using uint4 = Vec<std::uint32_t, 4>;

// Applies a function of scalars to every element.
template <class F, class T, int N, std::size_t... I, class... A>
CT_INLINE auto map_lanes(F f, std::index_sequence<I...>, const Vec<T, N>& a, const A&... b) {
    using R = decltype(f(a.v[0], b.v[0]...));
    return Vec<R, N>{{map_one(f, I, a, b...)...}};
}
template <class F, class... A> CT_INLINE auto map_one(F f, std::size_t i, const A&... a) { return f(a.v[i]...); }
template <class F, class T, int N, class... A> CT_INLINE auto map(F f, const Vec<T, N>& a, const A&... b) {
    return map_lanes(f, std::make_index_sequence<N>(), a, b...);
}
template <class F, class T, int R, int C, class... A> CT_INLINE auto map(F f, const Mat<T, R, C>& a, const A&... b) {
    using E = decltype(f(a.v[0].v[0], b.v[0].v[0]...));
    Mat<E, R, C> out;
    for (int i = 0; i < R; i++) out.v[i] = map(f, a.v[i], b.v[i]...);
    return out;
}
template <class T> constexpr bool is_scalar = std::is_arithmetic_v<T> || std::is_same_v<T, half>;

#define CT_UNARY(name, body)                                                             \
    template <class T> CT_INLINE std::enable_if_t<is_scalar<T>, decltype(body(T()))> name(T a) { return body(a); } \
    template <class T, int N> CT_INLINE auto name(const Vec<T, N>& a) { return map([](T x) { return body(x); }, a); } \
    template <class T, int R, int C> CT_INLINE auto name(const Mat<T, R, C>& a) { return map([](T x) { return body(x); }, a); }
#define CT_BINARY(name, body)                                                            \
    template <class T> CT_INLINE std::enable_if_t<is_scalar<T>, decltype(body(T(), T()))> name(T a, T b) { return body(a, b); } \
    template <class T, int N> CT_INLINE auto name(const Vec<T, N>& a, const Vec<T, N>& b) { return map([](T x, T y) { return body(x, y); }, a, b); } \
    template <class T, int R, int C> CT_INLINE auto name(const Mat<T, R, C>& a, const Mat<T, R, C>& b) { return map([](T x, T y) { return body(x, y); }, a, b); }

// Integers wrap: their arithmetic is done without signs.
template <class T> using unsigned_t = std::make_unsigned_t<T>;
template <class T> using wide_t = std::conditional_t<(sizeof(T) < 4), std::uint32_t, unsigned_t<T>>;
#define CT_WRAPPING(name, op)                                                            \
    template <class T> CT_INLINE T name##_(T a, T b) {                                   \
        if constexpr (std::is_integral_v<T>) return T(wide_t<T>(a) op wide_t<T>(b));     \
        else return a op b;                                                              \
    }                                                                                    \
    CT_BINARY(name, name##_)
CT_WRAPPING(add, +)
CT_WRAPPING(sub, -)
CT_WRAPPING(mul, *)
#undef CT_WRAPPING
template <class T> CT_INLINE T neg_(T a) {
    if constexpr (std::is_integral_v<T>) return T(wide_t<T>(0) - wide_t<T>(a)); else return -a;
}
CT_UNARY(neg, neg_)
template <class T> CT_INLINE T div_(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (CT_UNLIKELY(b == 0)) trap(0, "division by zero");
        if constexpr (std::is_signed_v<T>) { if (b == T(-1)) return neg_(a); }
        return T(a / b);
    } else return a / b;
}
CT_BINARY(div, div_)
template <class T> CT_INLINE T rem_(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (CT_UNLIKELY(b == 0)) trap(0, "division by zero");
        if constexpr (std::is_signed_v<T>) { if (b == T(-1)) return T(0); }
        return T(a % b);
    } else return T(std::fmod(a, b));
}
CT_BINARY(rem, rem_)
template <class T> CT_INLINE T abs_(T a) {
    if constexpr (std::is_same_v<T, half>) return half::raw(std::uint16_t(a.bits & 0x7fffu));
    else if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
    else if constexpr (std::is_signed_v<T>) return a < 0 ? neg_(a) : a;
    else return a;
}
CT_UNARY(abs, abs_)
template <class T> CT_INLINE T sign_(T a) { return T((a > T(0)) - (a < T(0))); }
CT_UNARY(sign, sign_)
template <class T> CT_INLINE T min_(T a, T b) { return b != b || a < b ? a : b; }
CT_BINARY(min, min_)
template <class T> CT_INLINE T max_(T a, T b) { return b != b || a > b ? a : b; }
CT_BINARY(max, max_)
template <class T> CT_INLINE T and_(T a, T b) { return T(a & b); }
CT_BINARY(bit_and, and_)
template <class T> CT_INLINE T or_(T a, T b) { return T(a | b); }
CT_BINARY(bit_or, or_)
template <class T> CT_INLINE T xor_(T a, T b) { return T(a ^ b); }
CT_BINARY(bit_xor, xor_)
template <class T> CT_INLINE T not_(T a) { if constexpr (std::is_same_v<T, bool>) return !a; else return T(~a); }
CT_UNARY(bit_not, not_)
template <class T> CT_INLINE T shl_(T a, T b) { return T(wide_t<T>(a) << (wide_t<T>(b) & (8 * sizeof(T) - 1))); }
CT_BINARY(shl, shl_)
template <class T> CT_INLINE T shr_(T a, T b) { return T(a >> (wide_t<T>(b) & (8 * sizeof(T) - 1))); }
CT_BINARY(shr, shr_)
template <class T> CT_INLINE T count_bits_(T a) {
    unsigned_t<T> bits = unsigned_t<T>(a); T n = 0;
    for (; bits; bits = unsigned_t<T>(bits & (bits - 1))) n++;
    return n;
}
CT_UNARY(count_bits, count_bits_)
template <class T> CT_INLINE T first_bit_low_(T a) {
    for (int i = 0; i < int(8 * sizeof(T)); i++) if (unsigned_t<T>(a) >> i & 1) return T(i);
    return T(-1);
}
CT_UNARY(first_bit_low, first_bit_low_)
template <class T> CT_INLINE T first_bit_high_(T a) {
    unsigned_t<T> bits = unsigned_t<T>(a);
    if constexpr (std::is_signed_v<T>) { if (a < 0) bits = unsigned_t<T>(~a); }
    for (int i = int(8 * sizeof(T)); i-- > 0;) if (bits >> i & 1) return T(i);
    return T(-1);
}
CT_UNARY(first_bit_high, first_bit_high_)
template <class T> CT_INLINE T reverse_bits_(T a) {
    unsigned_t<T> bits = unsigned_t<T>(a), out = 0;
    for (std::size_t i = 0; i < 8 * sizeof(T); i++) out = unsigned_t<T>(out << 1 | (bits >> i & 1));
    return T(out);
}
CT_UNARY(reverse_bits, reverse_bits_)
#define CT_COMPARE(name, op) \
    template <class T> CT_INLINE bool name##_(T a, T b) { return a op b; } \
    CT_BINARY(name, name##_)
CT_COMPARE(eq, ==)
CT_COMPARE(ne, !=)
CT_COMPARE(lt, <)
CT_COMPARE(le, <=)
CT_COMPARE(gt, >)
CT_COMPARE(ge, >=)
#undef CT_COMPARE
template <class T> CT_INLINE bool is_nan_(T a) { return a != a; }
CT_UNARY(is_nan, is_nan_)
template <class T> CT_INLINE bool is_inf_(T a) { return a == a && a - a != a - a; }
CT_UNARY(is_inf, is_inf_)

// Functions of floats; a half goes through float.
#define CT_FLOAT(name, expr) \
    CT_INLINE float name##_(float a) { return expr; } \
    CT_INLINE double name##_(double a) { return expr; } \
    CT_INLINE half name##_(half h) { return half(name##_(float(h))); } \
    CT_UNARY(name, name##_)
CT_FLOAT(floor, std::floor(a))
CT_FLOAT(ceil, std::ceil(a))
CT_FLOAT(round, std::round(a))
CT_FLOAT(round_even, std::nearbyint(a))
CT_FLOAT(trunc, std::trunc(a))
CT_FLOAT(sqrt, std::sqrt(a))
CT_FLOAT(rsqrt, decltype(a)(1) / std::sqrt(a))
CT_FLOAT(exp, std::exp(a))
CT_FLOAT(exp2, std::exp2(a))
CT_FLOAT(log, std::log(a))
CT_FLOAT(log2, std::log2(a))
CT_FLOAT(log10, std::log10(a))
CT_FLOAT(sin, std::sin(a))
CT_FLOAT(cos, std::cos(a))
CT_FLOAT(tan, std::tan(a))
CT_FLOAT(asin, std::asin(a))
CT_FLOAT(acos, std::acos(a))
CT_FLOAT(atan, std::atan(a))
CT_FLOAT(sinh, std::sinh(a))
CT_FLOAT(cosh, std::cosh(a))
CT_FLOAT(tanh, std::tanh(a))
CT_FLOAT(asinh, std::asinh(a))
CT_FLOAT(acosh, std::acosh(a))
CT_FLOAT(atanh, std::atanh(a))
#undef CT_FLOAT
template <class T> CT_INLINE T pow_(T a, T b) { return T(std::pow(a, b)); }
template <> CT_INLINE half pow_(half a, half b) { return half(std::pow(float(a), float(b))); }
CT_BINARY(pow, pow_)
template <class T> CT_INLINE T atan2_(T a, T b) { return T(std::atan2(a, b)); }
template <> CT_INLINE half atan2_(half a, half b) { return half(std::atan2(float(a), float(b))); }
CT_BINARY(atan2, atan2_)
template <class T> CT_INLINE T fma_(T a, T b, T c) { return T(std::fma(a, b, c)); }
template <> CT_INLINE half fma_(half a, half b, half c) { return half(float(double(float(a)) * float(b) + float(c))); }
template <class T> CT_INLINE std::enable_if_t<is_scalar<T>, T> fma(T a, T b, T c) { return fma_(a, b, c); }
template <class V> CT_INLINE std::enable_if_t<!is_scalar<V>, V> fma(const V& a, const V& b, const V& c) {
    return map([](auto x, auto y, auto z) { return fma_(x, y, z); }, a, b, c);
}

template <class T, int N> CT_INLINE Vec<T, N> operator+(const Vec<T, N>& a, const Vec<T, N>& b) { return add(a, b); }
template <class T, int N> CT_INLINE Vec<T, N> operator-(const Vec<T, N>& a, const Vec<T, N>& b) { return sub(a, b); }
template <class T, int N> CT_INLINE Vec<T, N> operator*(const Vec<T, N>& a, const Vec<T, N>& b) { return mul(a, b); }
template <class T, int N> CT_INLINE Vec<T, N> operator/(const Vec<T, N>& a, const Vec<T, N>& b) { return div(a, b); }
template <class T, int N> CT_INLINE Vec<T, N> operator-(const Vec<T, N>& a) { return neg(a); }
template <class T, int R, int C> CT_INLINE Mat<T, R, C> operator+(const Mat<T, R, C>& a, const Mat<T, R, C>& b) { return add(a, b); }
template <class T, int R, int C> CT_INLINE Mat<T, R, C> operator-(const Mat<T, R, C>& a, const Mat<T, R, C>& b) { return sub(a, b); }
template <class T, int R, int C> CT_INLINE Mat<T, R, C> operator*(const Mat<T, R, C>& a, const Mat<T, R, C>& b) { return mul(a, b); }
template <class T, int R, int C> CT_INLINE Mat<T, R, C> operator/(const Mat<T, R, C>& a, const Mat<T, R, C>& b) { return div(a, b); }
template <class T, int R, int C> CT_INLINE Mat<T, R, C> operator-(const Mat<T, R, C>& a) { return neg(a); }

// Conversions: to integers towards zero and saturating, NaN to 0; to booleans whether it is not 0.
template <class To, class From> CT_INLINE std::enable_if_t<is_scalar<From>, To> convert(From a) {
    if constexpr (std::is_same_v<To, bool>) return a != From(0);
    else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
        using F = std::conditional_t<std::is_same_v<From, double>, double, float>;
        F x = F(a);
        if (x != x) return To(0);
        if (x >= std::ldexp(F(1), std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
        if (x <= F(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
        return To(x);
    } else if constexpr (std::is_same_v<To, half>) return half(float(a));
    else if constexpr (std::is_same_v<From, half>) return To(float(a));
    else return To(a);
}
template <class To, class From, int N> CT_INLINE Vec<To, N> convert(const Vec<From, N>& a) {
    return map([](From x) { return convert<To>(x); }, a);
}
template <class To, class From, int R, int C> CT_INLINE Mat<To, R, C> convert(const Mat<From, R, C>& a) {
    return map([](From x) { return convert<To>(x); }, a);
}
template <class To, class From> CT_INLINE To bitcast(const From& a) {
    static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
    To out; std::memcpy(&out, &a, sizeof(To)); return out;
}
template <class T> CT_INLINE bool same_bits(T a, T b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }
// Changes what is at a place in one step; gives what was there.
template <class T, class F> CT_INLINE T atomic_update(T& place, F f) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "atomic operations take 32 or 64 bits");
#if defined(__GNUC__)
    using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    U* at = reinterpret_cast<U*>(&place);
    U bits = __atomic_load_n(at, __ATOMIC_RELAXED);
    for (;;) {
        const T old = bitcast<T>(bits);
        if (__atomic_compare_exchange_n(at, &bits, bitcast<U>(f(old)), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
    }
#else
    static_assert(sizeof(T) == 0, "atomic operations need GCC or Clang");
#endif
}
template <class V, class T> CT_INLINE V splat(const T& a) {
    V out;
    for (auto& part : out.v) {
        if constexpr (std::is_convertible_v<T, std::decay_t<decltype(part)>>) part = a;
        else part = splat<std::decay_t<decltype(part)>>(a);
    }
    return out;
}
template <int... I, class T, int N> CT_INLINE auto swizzle(const Vec<T, N>& a) {
    if constexpr (sizeof...(I) == 1) return T{a.v[I]...}; else return Vec<T, int(sizeof...(I))>{{a.v[I]...}};
}
template <int I, class T, int N> CT_INLINE Vec<T, 1> swizzle1(const Vec<T, N>& a) { return Vec<T, 1>{{a.v[I]}}; }
template <class T> CT_INLINE T select(bool c, const T& a, const T& b) { return c ? a : b; }
template <class T, int N> CT_INLINE Vec<T, N> select(const Vec<bool, N>& c, const Vec<T, N>& a, const Vec<T, N>& b) {
    return map([](bool x, T y, T z) { return x ? y : z; }, c, a, b);
}
template <class T, int R, int C> CT_INLINE Mat<T, R, C> select(const Mat<bool, R, C>& c, const Mat<T, R, C>& a, const Mat<T, R, C>& b) {
    return map([](bool x, T y, T z) { return x ? y : z; }, c, a, b);
}
template <class T, int N> CT_INLINE T dot(const Vec<T, N>& a, const Vec<T, N>& b) {
    T sum = mul(a.v[0], b.v[0]);
    for (int i = 1; i < N; i++) sum = add(sum, mul(a.v[i], b.v[i]));
    return sum;
}
template <class T, int R, int C> CT_INLINE Vec<T, R> mat_vec(const Mat<T, R, C>& m, const Vec<T, C>& v) {
    Vec<T, R> out;
    for (int i = 0; i < R; i++) out.v[i] = dot(m.v[i], v);
    return out;
}
template <class T, int R, int C> CT_INLINE Mat<T, C, R> transpose(const Mat<T, R, C>& m) {
    Mat<T, C, R> out;
    for (int i = 0; i < R; i++) for (int j = 0; j < C; j++) out.v[j].v[i] = m.v[i].v[j];
    return out;
}
template <class T, int R, int C> CT_INLINE Vec<T, C> vec_mat(const Vec<T, R>& v, const Mat<T, R, C>& m) { return mat_vec(transpose(m), v); }
template <class T, int R, int K, int C> CT_INLINE Mat<T, R, C> mat_mat(const Mat<T, R, K>& a, const Mat<T, K, C>& b) {
    Mat<T, R, C> out; const Mat<T, C, K> t = transpose(b);
    for (int i = 0; i < R; i++) for (int j = 0; j < C; j++) out.v[i].v[j] = dot(a.v[i], t.v[j]);
    return out;
}
template <class T, int R, int C> CT_INLINE Mat<T, R, C> outer(const Vec<T, R>& a, const Vec<T, C>& b) {
    Mat<T, R, C> out;
    for (int i = 0; i < R; i++) for (int j = 0; j < C; j++) out.v[i].v[j] = mul(a.v[i], b.v[j]);
    return out;
}
// Sums of anything that derivatives have; `add_to` of a structure is written where the structure is.
template <class T> CT_INLINE std::enable_if_t<is_scalar<T>> add_to(T& a, const T& b) { a = add(a, b); }
template <class T, int N> CT_INLINE void add_to(Vec<T, N>& a, const Vec<T, N>& b) { a = add(a, b); }
template <class T, int R, int C> CT_INLINE void add_to(Mat<T, R, C>& a, const Mat<T, R, C>& b) { a = add(a, b); }
CT_INLINE void add_to(Unit&, const Unit&) {}
template <class T, std::size_t N> CT_INLINE void add_to(Array<T, N>& a, const Array<T, N>& b) {
    for (std::size_t i = 0; i < N; i++) add_to(a.v[i], b.v[i]);
}
template <class T, int N> CT_INLINE T sum(const Vec<T, N>& a) {
    T out = a.v[0];
    for (int i = 1; i < N; i++) out = add(out, a.v[i]);
    return out;
}
template <class T, int R, int C> CT_INLINE T sum(const Mat<T, R, C>& a) {
    T out = sum(a.v[0]);
    for (int i = 1; i < R; i++) out = add(out, sum(a.v[i]));
    return out;
}
template <class T, std::size_t N> CT_INLINE T sum(const Array<T, N>& a) {
    T out{};
    for (std::size_t i = 0; i < N; i++) add_to(out, a.v[i]);
    return out;
}

} // namespace ct
#endif
