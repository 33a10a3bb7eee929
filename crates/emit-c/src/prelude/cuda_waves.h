#ifndef COTANGENT_WAVES
#define COTANGENT_WAVES
namespace ct {

// Waves are warps. The active lanes are those that the hardware has at the same place.
CT_INLINE u32 lane_index() { u32 lane; asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)); return lane; }
CT_INLINE u32 lane_count() { return 32; }
CT_INLINE bool wave_all(bool b) { return __all_sync(__activemask(), b); }
CT_INLINE bool wave_any(bool b) { return __any_sync(__activemask(), b); }
CT_INLINE uint4 wave_ballot(bool b) { return {{__ballot_sync(__activemask(), b), 0, 0, 0}}; }

// What a lane gives, word by word.
template <class T> CT_INLINE T shuffle(u32 mask, const T& value, u32 lane) {
    constexpr int count = (sizeof(T) + 3) / 4;
    u32 words[count] = {};
    memcpy(words, &value, sizeof(T));
    for (int i = 0; i < count; i++) words[i] = __shfl_sync(mask, words[i], int(lane));
    T out;
    memcpy(&out, words, sizeof(T));
    return out;
}
template <class T> CT_INLINE T wave_read_at(const T& value, u32 lane) { return shuffle(__activemask(), value, lane); }
template <class T> CT_INLINE T wave_read_first(const T& value) {
    const u32 mask = __activemask();
    return shuffle(mask, value, u32(__ffs(int(mask)) - 1));
}
template <u32 BITS, class T> CT_INLINE T wave_across(const T& value) {
    return shuffle(__activemask(), value, lane_index() ^ BITS);
}

// What the lanes make together, in their order; and what those before this one make, beginning with `first`.
template <class T, class F> CT_FN T wave_reduce(const T& value, F f) {
    const u32 mask = __activemask();
    u32 left = mask;
    T out = shuffle(mask, value, u32(__ffs(int(left)) - 1));
    for (left &= left - 1; left; left &= left - 1) out = f(out, shuffle(mask, value, u32(__ffs(int(left)) - 1)));
    return out;
}
template <class T, class F> CT_FN T wave_prefix(const T& value, T first, F f) {
    const u32 mask = __activemask(), self = lane_index();
    for (u32 left = mask; left; left &= left - 1) {
        const u32 lane = u32(__ffs(int(left)) - 1);
        const T other = shuffle(mask, value, lane);
        if (lane < self) first = f(first, other);
    }
    return first;
}
template <class T> CT_INLINE T wave_one(const T&) { return T(1); }
template <class T, int N> CT_INLINE Vec<T, N> wave_one(const Vec<T, N>&) {
    Vec<T, N> out{};
    for (int i = 0; i < N; i++) out.v[i] = T(1);
    return out;
}
#define CT_WAVE(name, op) \
    template <class T> CT_FN T name(const T& value) { return wave_reduce(value, [](const T& a, const T& b) { return op(a, b); }); }
CT_WAVE(wave_sum, add)
CT_WAVE(wave_product, mul)
CT_WAVE(wave_min, min)
CT_WAVE(wave_max, max)
CT_WAVE(wave_and, bit_and)
CT_WAVE(wave_or, bit_or)
CT_WAVE(wave_xor, bit_xor)
#undef CT_WAVE
template <class T> CT_FN T wave_prefix_sum(const T& value) {
    return wave_prefix(value, T{}, [](const T& a, const T& b) { return add(a, b); });
}
template <class T> CT_FN T wave_prefix_product(const T& value) {
    return wave_prefix(value, wave_one(value), [](const T& a, const T& b) { return mul(a, b); });
}

} // namespace ct
#endif
