// Parts of what a value of interface type holds, between its bytes and those of a type that begin at `at`. A `bool` is a word there.
template <class T> CT_INLINE void get_bytes(T& value, usize at, const unsigned char* data, usize size) {
    memcpy(reinterpret_cast<unsigned char*>(&value) + at, data, size);
}
template <class T> CT_INLINE void put_bytes(const T& value, usize at, unsigned char* data, usize size) {
    memcpy(data, reinterpret_cast<const unsigned char*>(&value) + at, size);
}
template <class T> CT_INLINE void get_flag(T& value, usize at, const unsigned char* data) {
    reinterpret_cast<unsigned char*>(&value)[at] = (data[0] | data[1] | data[2] | data[3]) != 0;
}

// The index `i` of one of `count` elements, checked unless COTANGENT_UNCHECKED is defined.
template <class I> CT_INLINE usize at(I i, usize count, int line) {
#ifndef COTANGENT_UNCHECKED
    if (CT_UNLIKELY(static_cast<usize>(i) >= count)) outside(line, i64(i), u64(count));
#else
    (void)count; (void)line;
#endif
    return static_cast<usize>(i);
}

// Binary16, held by its bits; arithmetic is done in float.
struct half {
    u16 bits;
    half() = default;
    CT_INLINE half(float x) : bits(half_bits(x)) {}
    CT_INLINE operator float() const { return half_value(bits); }
    static CT_INLINE half raw(u16 b) { half h; h.bits = b; return h; }
};
// A double rounded once. The float between keeps in its last bit whether anything was lost, which its rounding then sees.
CT_INLINE half half_of(double x) {
    float near = float(x);
    if (double(near) != x && x == x) {
        u32 b; memcpy(&b, &near, 4);
        if ((x < 0 ? -double(near) : double(near)) > (x < 0 ? -x : x)) b--;
        b |= 1;
        memcpy(&near, &b, 4);
    }
    return half(near);
}
CT_INLINE half operator+(half a, half b) { return half(float(a) + float(b)); }
CT_INLINE half operator-(half a, half b) { return half(float(a) - float(b)); }
CT_INLINE half operator*(half a, half b) { return half(float(a) * float(b)); }
CT_INLINE half operator/(half a, half b) { return half(float(a) / float(b)); }
CT_INLINE half operator-(half a) { return half::raw(u16(a.bits ^ 0x8000u)); }

template <class T, int N> struct alignas(vec_align<T, N>) Vec {
    T v[vec_room<T, N>];
    CT_INLINE T& operator[](usize i) { return v[i]; }
    CT_INLINE const T& operator[](usize i) const { return v[i]; }
};
template <class T, int R, int C> struct Mat {
    Vec<T, C> v[R];
    CT_INLINE Vec<T, C>& operator[](usize i) { return v[i]; }
    CT_INLINE const Vec<T, C>& operator[](usize i) const { return v[i]; }
};
template <class T, usize N> struct Array {
    T v[N ? N : 1];
    CT_INLINE T& operator[](usize i) { return v[i]; }
    CT_INLINE const T& operator[](usize i) const { return v[i]; }
};
// A pointer, with the array or the one thing that it may be moved in: it is looked at when the pointer is followed.
template <class T> struct Ptr {
    T* place;
    T* first;
    T* last;
    CT_INLINE bool inside() const { return place >= first && place < last; }
    CT_INLINE u64 address() const { return u64(reinterpret_cast<usize>(place)); }
    CT_INLINE T& at(int line) const {
        if (CT_UNLIKELY(!place)) trap(line, "null pointer dereference");
        if (CT_UNLIKELY(!inside())) trap(line, "index out of bounds");
        return *place;
    }
    // This element and the next as one number.
    template <class W> CT_INLINE W& wide(int line) const {
        static_assert(sizeof(W) == 2 * sizeof(T), "two elements");
        T& low = at(line);
        moved(1).at(line);
        return reinterpret_cast<W&>(low);
    }
    // So many elements further on. The null pointer stays where it is.
    CT_INLINE Ptr moved(i64 n) const {
        return place ? Ptr{reinterpret_cast<T*>(usize(address() + u64(n) * sizeof(T))), first, last} : *this;
    }
    // A field, or an element of what is pointed to. What is part of nothing is nowhere.
    template <class M, class S> CT_INLINE Ptr<M> field(M S::* member) const {
        if (!inside()) return nowhere<M>();
        M* at = &(place->*member);
        return {at, at, at + 1};
    }
    // A part without data, for which there is no field: it is where the whole is.
    template <class M> CT_INLINE Ptr<M> nothing() const {
        if (!inside()) return nowhere<M>();
        M* at = reinterpret_cast<M*>(place);
        return {at, at, at + 1};
    }
    template <class I> CT_INLINE auto element(I i) const {
        using M = decay_t<decltype(place->v[0])>;
        if (!inside()) return nowhere<M>();
        M* at = place->v;
        return Ptr<M>{at, at, at + size_of(*place)}.moved(i64(i));
    }
    template <class M> CT_INLINE Ptr<M> nowhere() const {
        M* at = reinterpret_cast<M*>(place);
        return {at, at, at};
    }
};
template <class T> CT_INLINE Ptr<T> point(T& at) { return {&at, &at, &at + 1}; }
// A pointer to the same place that leads to something else, of which only whole ones are inside.
template <class T, class S> CT_INLINE Ptr<T> cast(Ptr<S> p) {
    const usize at = usize(p.place), first = usize(p.first), last = usize(p.last), size = sizeof(T);
    const usize before = at < first ? at + (first - at + size - 1) / size * size : at - (at - first) / size * size;
    const usize behind = at > last ? at - (at - last + size - 1) / size * size : at + (last - at) / size * size;
    return {reinterpret_cast<T*>(at), reinterpret_cast<T*>(before), reinterpret_cast<T*>(behind)};
}
// A pointer to an address, of which no bounds are known.
template <class T> CT_INLINE Ptr<T> at_address(u64 address) {
    return {reinterpret_cast<T*>(usize(address)), nullptr, reinterpret_cast<T*>(~usize(0))};
}
template <class T, int N> constexpr CT_FN usize size_of(const Vec<T, N>&) { return N; }
template <class T, int R, int C> constexpr CT_FN usize size_of(const Mat<T, R, C>&) { return R; }
template <class T, usize N> constexpr CT_FN usize size_of(const Array<T, N>&) { return N; }
// Elements that the host owns.
template <class T> struct Buffer {
    T* CT_RESTRICT data;
    usize count;
    template <class I> CT_INLINE T& at(I i, int line) const { return data[ct::at(i, count, line)]; }
    CT_INLINE u64 address() const { return u64(usize(data)); }
    // A pointer into a buffer without elements is null.
    template <class I> CT_INLINE auto point(I i) const {
        using M = decay_t<T>;
        M* at = count ? const_cast<M*>(data) : nullptr;
        return Ptr<M>{at, at, at + count}.moved(i64(i));
    }
};
struct Unit {};

using float2 = Vec<float, 2>; using float3 = Vec<float, 3>; using float4 = Vec<float, 4>;
using int2 = Vec<i32, 2>; using int3 = Vec<i32, 3>; using int4 = Vec<i32, 4>;
using uint2 = Vec<u32, 2>; using uint3 = Vec<u32, 3>; using uint4 = Vec<u32, 4>;

// Applies a function of scalars to every element.
template <class F, class T, int N, usize... I, class... A>
CT_INLINE auto map_lanes(F f, index_sequence<I...>, const Vec<T, N>& a, const A&... b) {
    using R = decltype(f(a.v[0], b.v[0]...));
    return Vec<R, N>{{map_one(f, I, a, b...)...}};
}
template <class F, class... A> CT_INLINE auto map_one(F f, usize i, const A&... a) { return f(a.v[i]...); }
template <class F, class T, int N, class... A> CT_INLINE auto map(F f, const Vec<T, N>& a, const A&... b) {
    return map_lanes(f, make_index_sequence<N>(), a, b...);
}
template <class F, class T, int R, int C, class... A> CT_INLINE auto map(F f, const Mat<T, R, C>& a, const A&... b) {
    using E = decltype(f(a.v[0].v[0], b.v[0].v[0]...));
    Mat<E, R, C> out;
    for (int i = 0; i < R; i++) out.v[i] = map(f, a.v[i], b.v[i]...);
    return out;
}
template <class T> constexpr bool is_scalar = is_arithmetic_v<T> || is_same_v<T, half>;

#define CT_UNARY(name, body)                                                             \
    template <class T> CT_INLINE enable_if_t<is_scalar<T>, decltype(body(T()))> name(T a) { return body(a); } \
    template <class T, int N> CT_INLINE auto name(const Vec<T, N>& a) { return map([](T x) { return body(x); }, a); } \
    template <class T, int R, int C> CT_INLINE auto name(const Mat<T, R, C>& a) { return map([](T x) { return body(x); }, a); }
#define CT_BINARY(name, body)                                                            \
    template <class T> CT_INLINE enable_if_t<is_scalar<T>, decltype(body(T(), T()))> name(T a, T b) { return body(a, b); } \
    template <class T, int N> CT_INLINE auto name(const Vec<T, N>& a, const Vec<T, N>& b) { return map([](T x, T y) { return body(x, y); }, a, b); } \
    template <class T, int R, int C> CT_INLINE auto name(const Mat<T, R, C>& a, const Mat<T, R, C>& b) { return map([](T x, T y) { return body(x, y); }, a, b); }

template <usize N> using bits_t = conditional_t<N == 2, u16, conditional_t<N == 4, u32, u64>>;
// Integers wrap: their arithmetic is done without signs.
template <class T> using unsigned_t = make_unsigned_t<T>;
template <class T> using wide_t = conditional_t<(sizeof(T) < 4), u32, unsigned_t<T>>;
#define CT_WRAPPING(name, op)                                                            \
    template <class T> CT_INLINE T name##_(T a, T b) {                                   \
        if constexpr (is_integral_v<T>) return T(wide_t<T>(a) op wide_t<T>(b));     \
        else return a op b;                                                              \
    }                                                                                    \
    CT_BINARY(name, name##_)
CT_WRAPPING(add, +)
CT_WRAPPING(sub, -)
CT_WRAPPING(mul, *)
#undef CT_WRAPPING
template <class T> CT_INLINE T neg_(T a) {
    if constexpr (is_integral_v<T>) return T(wide_t<T>(0) - wide_t<T>(a)); else return -a;
}
CT_UNARY(neg, neg_)
template <class T> CT_INLINE T div_(T a, T b) {
    if constexpr (is_integral_v<T>) {
        if (CT_UNLIKELY(b == 0)) trap(0, "division by zero");
        if constexpr (is_signed_v<T>) { if (b == T(-1)) return neg_(a); }
        return T(a / b);
    } else return a / b;
}
CT_BINARY(div, div_)
CT_INLINE float fmod_(float a, float b) { return CT_F(fmod)(a, b); }
CT_INLINE double fmod_(double a, double b) { return CT_D(fmod)(a, b); }
CT_INLINE float fabs_(float a) { return CT_F(fabs)(a); }
CT_INLINE double fabs_(double a) { return CT_D(fabs)(a); }
template <class T> CT_INLINE T rem_(T a, T b) {
    if constexpr (is_integral_v<T>) {
        if (CT_UNLIKELY(b == 0)) trap(0, "division by zero");
        if constexpr (is_signed_v<T>) { if (b == T(-1)) return T(0); }
        return T(a % b);
    } else if constexpr (is_same_v<T, half>) return half(fmod_(float(a), float(b)));
    else return fmod_(a, b);
}
CT_BINARY(rem, rem_)
template <class T> CT_INLINE T abs_(T a) {
    if constexpr (is_same_v<T, half>) return half::raw(u16(a.bits & 0x7fffu));
    else if constexpr (is_floating_point_v<T>) return fabs_(a);
    else if constexpr (is_signed_v<T>) return a < 0 ? neg_(a) : a;
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
template <class T> CT_INLINE T not_(T a) { if constexpr (is_same_v<T, bool>) return !a; else return T(~a); }
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
    if constexpr (is_signed_v<T>) { if (a < 0) bits = unsigned_t<T>(~a); }
    for (int i = int(8 * sizeof(T)); i-- > 0;) if (bits >> i & 1) return T(i);
    return T(-1);
}
CT_UNARY(first_bit_high, first_bit_high_)
template <class T> CT_INLINE T reverse_bits_(T a) {
    unsigned_t<T> bits = unsigned_t<T>(a), out = 0;
    for (usize i = 0; i < 8 * sizeof(T); i++) out = unsigned_t<T>(out << 1 | (bits >> i & 1));
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
#define CT_FLOAT(name, f, d) \
    CT_INLINE float name##_(float a) { return f(a); } \
    CT_INLINE double name##_(double a) { return d(a); } \
    CT_INLINE half name##_(half h) { return half(name##_(float(h))); } \
    CT_UNARY(name, name##_)
CT_FLOAT(floor, CT_F(floor), CT_D(floor))
CT_FLOAT(ceil, CT_F(ceil), CT_D(ceil))
CT_FLOAT(round, CT_F(round), CT_D(round))
CT_FLOAT(round_even, CT_F(nearbyint), CT_D(nearbyint))
CT_FLOAT(trunc, CT_F(trunc), CT_D(trunc))
CT_FLOAT(sqrt, CT_F(sqrt), CT_D(sqrt))
CT_FLOAT(exp, CT_F(exp), CT_D(exp))
CT_FLOAT(exp2, CT_F(exp2), CT_D(exp2))
CT_FLOAT(log, CT_F(log), CT_D(log))
CT_FLOAT(log2, CT_F(log2), CT_D(log2))
CT_FLOAT(log10, CT_F(log10), CT_D(log10))
CT_FLOAT(sin, CT_F(sin), CT_D(sin))
CT_FLOAT(cos, CT_F(cos), CT_D(cos))
CT_FLOAT(tan, CT_F(tan), CT_D(tan))
CT_FLOAT(asin, CT_F(asin), CT_D(asin))
CT_FLOAT(acos, CT_F(acos), CT_D(acos))
CT_FLOAT(atan, CT_F(atan), CT_D(atan))
CT_FLOAT(sinh, CT_F(sinh), CT_D(sinh))
CT_FLOAT(cosh, CT_F(cosh), CT_D(cosh))
CT_FLOAT(tanh, CT_F(tanh), CT_D(tanh))
CT_FLOAT(asinh, CT_F(asinh), CT_D(asinh))
CT_FLOAT(acosh, CT_F(acosh), CT_D(acosh))
CT_FLOAT(atanh, CT_F(atanh), CT_D(atanh))
#undef CT_FLOAT
CT_INLINE float rsqrt_(float a) { return 1.0f / sqrt_(a); }
CT_INLINE double rsqrt_(double a) { return 1.0 / sqrt_(a); }
CT_INLINE half rsqrt_(half a) { return half(rsqrt_(float(a))); }
CT_UNARY(rsqrt, rsqrt_)
CT_INLINE float pow_(float a, float b) { return CT_F(pow)(a, b); }
CT_INLINE double pow_(double a, double b) { return CT_D(pow)(a, b); }
CT_INLINE half pow_(half a, half b) { return half(pow_(float(a), float(b))); }
CT_BINARY(pow, pow_)
CT_INLINE float atan2_(float a, float b) { return CT_F(atan2)(a, b); }
CT_INLINE double atan2_(double a, double b) { return CT_D(atan2)(a, b); }
CT_INLINE half atan2_(half a, half b) { return half(atan2_(float(a), float(b))); }
CT_BINARY(atan2, atan2_)
CT_INLINE float fma_(float a, float b, float c) { return CT_F(fma)(a, b, c); }
CT_INLINE double fma_(double a, double b, double c) { return CT_D(fma)(a, b, c); }
CT_INLINE half fma_(half a, half b, half c) { return half_of(double(float(a)) * float(b) + float(c)); }
template <class T> CT_INLINE enable_if_t<is_scalar<T>, T> fma(T a, T b, T c) { return fma_(a, b, c); }
template <class V> CT_INLINE enable_if_t<!is_scalar<V>, V> fma(const V& a, const V& b, const V& c) {
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
template <class To, class From> CT_INLINE enable_if_t<is_scalar<From>, To> convert(From a) {
    if constexpr (is_same_v<To, bool>) return a != From(0);
    else if constexpr (is_integral_v<To> && !is_integral_v<From>) {
        using F = conditional_t<is_same_v<From, double>, double, float>;
        F x = F(a);
        if (x != x) return To(0);
        constexpr int digits = 8 * int(sizeof(To)) - is_signed_v<To>;
        constexpr To most = To(unsigned_t<To>(~unsigned_t<To>(0)) >> is_signed_v<To>), least = To(~most);
        if (x >= F(2) * F(u64(1) << (digits - 1))) return most;
        if (x <= F(is_signed_v<To> ? least : To(0))) return is_signed_v<To> ? least : To(0);
        return To(x);
    } else if constexpr (is_same_v<To, half> && is_same_v<From, double>) return half_of(a);
    else if constexpr (is_same_v<To, half>) return half(float(a));
    else if constexpr (is_same_v<From, half>) return To(float(a));
    else return To(a);
}
template <class To, class From, int N> CT_INLINE Vec<To, N> convert(const Vec<From, N>& a) {
    return map([](From x) { return convert<To>(x); }, a);
}
template <class To, class From, int R, int C> CT_INLINE Mat<To, R, C> convert(const Mat<From, R, C>& a) {
    return map([](From x) { return convert<To>(x); }, a);
}
// The same bits as another type. Vectors and matrices go lane by lane: their padding depends on the type.
template <class To, class From> struct Bits {
    static CT_INLINE To of(const From& a) {
        static_assert(sizeof(To) == sizeof(From), "a bit cast keeps the size");
        To out; memcpy(&out, &a, sizeof(To)); return out;
    }
};
template <class To, class From, int N> struct Bits<Vec<To, N>, Vec<From, N>> {
    static CT_INLINE Vec<To, N> of(const Vec<From, N>& a) {
        return map([](From x) { return Bits<To, From>::of(x); }, a);
    }
};
template <class To, class From, int R, int C> struct Bits<Mat<To, R, C>, Mat<From, R, C>> {
    static CT_INLINE Mat<To, R, C> of(const Mat<From, R, C>& a) {
        return map([](From x) { return Bits<To, From>::of(x); }, a);
    }
};
template <class To, class From> CT_INLINE To bitcast(const From& a) { return Bits<To, From>::of(a); }

// Atomic operations: change what is at a place in one step, and give what was there.
template <class T> using same_t = conditional_t<true, T, T>;
#define CT_ATOMIC(name, new_value)                                                       \
    template <class T> CT_INLINE T atomic_##name(T& place, same_t<T> value) {            \
        return atomic_update(place, [&](T old) { (void)old; return T(new_value); });     \
    }
CT_ATOMIC(add, add(old, value))
CT_ATOMIC(and, bit_and(old, value))
CT_ATOMIC(or, bit_or(old, value))
CT_ATOMIC(xor, bit_xor(old, value))
CT_ATOMIC(min, min(old, value))
CT_ATOMIC(max, max(old, value))
CT_ATOMIC(exchange, value)
#undef CT_ATOMIC
template <class T> CT_INLINE T atomic_compare_exchange(T& place, same_t<T> expected, same_t<T> value) {
    using U = bits_t<sizeof(T)>;
    return atomic_update(place, [&](T old) { return bitcast<U>(old) == bitcast<U>(expected) ? value : old; });
}
template <class V, class T> CT_INLINE V splat(const T& a) {
    V out;
    for (auto& part : out.v) {
        using P = decay_t<decltype(part)>;
        if constexpr (is_scalar<P> || is_same_v<P, T>) part = a;
        else part = splat<P>(a);
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
template <class T> CT_INLINE enable_if_t<is_scalar<T>> add_to(T& a, const T& b) { a = add(a, b); }
template <class T, int N> CT_INLINE void add_to(Vec<T, N>& a, const Vec<T, N>& b) { a = add(a, b); }
template <class T, int R, int C> CT_INLINE void add_to(Mat<T, R, C>& a, const Mat<T, R, C>& b) { a = add(a, b); }
CT_INLINE void add_to(Unit&, const Unit&) {}
template <class T, usize N> CT_INLINE void add_to(Array<T, N>& a, const Array<T, N>& b) {
    for (usize i = 0; i < N; i++) add_to(a.v[i], b.v[i]);
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
template <class T, usize N> CT_INLINE T sum(const Array<T, N>& a) {
    T out{};
    for (usize i = 0; i < N; i++) add_to(out, a.v[i]);
    return out;
}
