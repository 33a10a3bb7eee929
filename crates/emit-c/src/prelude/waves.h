#ifndef COTANGENT_WAVES
#define COTANGENT_WAVES
namespace ct {

// Lanes go apart: each keeps those that go the same way.
CT_INLINE bool part(Lanes& lanes, bool way) {
    const u32 yes = lanes.ballot(way);
    lanes.mask = way ? yes : lanes.mask & ~yes;
    return way;
}
CT_INLINE void part_by(Lanes& lanes, u32 way) { lanes.mask = lanes.alike(way); }
// Those of some lanes that have come here, where the others have said that they leave.
CT_INLINE Lanes stay(Lanes lanes) {
    lanes.mask = lanes.ballot(true);
    return lanes;
}
CT_INLINE void leave(const Lanes& lanes) { lanes.ballot(false); }

CT_INLINE u32 lane_index(const Lanes& lanes) { return lanes.self(); }
CT_INLINE u32 lane_count(const Lanes&) { return 32; }
CT_INLINE bool wave_all(const Lanes& lanes, bool b) { return lanes.ballot(b) == lanes.mask; }
CT_INLINE bool wave_any(const Lanes& lanes, bool b) { return lanes.ballot(b) != 0; }
CT_INLINE uint4 wave_ballot(const Lanes& lanes, bool b) { return {{lanes.ballot(b), 0, 0, 0}}; }
template <class T> CT_INLINE T wave_read_at(const Lanes& lanes, const T& value, u32 lane) { return lanes.at(value, lane); }
template <class T> CT_INLINE T wave_read_first(const Lanes& lanes, const T& value) { return lanes.at(value, lanes.first()); }
template <u32 BITS, class T> CT_INLINE T wave_across(const Lanes& lanes, const T& value) {
    return lanes.at(value, lanes.self() ^ BITS);
}

// What the lanes make together, in their order; and what those before this one make, beginning with `first`.
template <class T, class F> CT_FN T wave_reduce(const Lanes& lanes, const T& value, F f) {
    T out{};
    bool begun = false;
    lanes.each(value, [&](u32, const T& other) {
        out = begun ? f(out, other) : other;
        begun = true;
    });
    return out;
}
template <class T, class F> CT_FN T wave_prefix(const Lanes& lanes, const T& value, T first, F f) {
    const u32 self = lanes.self();
    lanes.each(value, [&](u32 lane, const T& other) {
        if (lane < self) first = f(first, other);
    });
    return first;
}
template <class T> CT_INLINE T wave_one(const T&) { return T(1); }
template <class T, int N> CT_INLINE Vec<T, N> wave_one(const Vec<T, N>&) {
    Vec<T, N> out{};
    for (int i = 0; i < N; i++) out.v[i] = T(1);
    return out;
}
#define CT_WAVE(name, op) \
    template <class T> CT_FN T name(const Lanes& lanes, const T& value) { \
        return wave_reduce(lanes, value, [](const T& a, const T& b) { return op(a, b); }); \
    }
CT_WAVE(wave_sum, add)
CT_WAVE(wave_product, mul)
CT_WAVE(wave_min, min)
CT_WAVE(wave_max, max)
CT_WAVE(wave_and, bit_and)
CT_WAVE(wave_or, bit_or)
CT_WAVE(wave_xor, bit_xor)
#undef CT_WAVE
template <class T> CT_FN T wave_prefix_sum(const Lanes& lanes, const T& value) {
    return wave_prefix(lanes, value, T{}, [](const T& a, const T& b) { return add(a, b); });
}
template <class T> CT_FN T wave_prefix_product(const Lanes& lanes, const T& value) {
    return wave_prefix(lanes, value, wave_one(value), [](const T& a, const T& b) { return mul(a, b); });
}

} // namespace ct
#endif
