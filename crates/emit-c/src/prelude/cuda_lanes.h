#ifndef COTANGENT_LANES
#define COTANGENT_LANES
namespace ct {

// The lanes of a wave, which is a warp, that are together.
struct Lanes {
    u32 mask;

    CT_INLINE u32 self() const { u32 lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); return lane; }
    CT_INLINE u32 first() const { return u32(__ffs(int(mask)) - 1); }
    CT_INLINE u32 ballot(bool b) const { return __ballot_sync(mask, b); }
    CT_INLINE u32 alike(u32 x) const { return __match_any_sync(mask, x); }
    // What a lane gives, word by word.
    template <class T> CT_INLINE T at(const T& value, u32 lane) const {
        constexpr int count = (sizeof(T) + 3) / 4;
        u32 words[count] = {};
        memcpy(words, &value, sizeof(T));
        for (int i = 0; i < count; i++) words[i] = __shfl_sync(mask, words[i], int(lane));
        T out;
        memcpy(&out, words, sizeof(T));
        return out;
    }
    // Calls `f` with every lane and what it gives, in order.
    template <class T, class F> CT_INLINE void each(const T& value, F f) const {
        for (u32 left = mask; left; left &= left - 1) {
            const u32 lane = u32(__ffs(int(left)) - 1);
            f(lane, at(value, lane));
        }
    }
};
// All lanes of the wave of a thread.
CT_INLINE Lanes wave_of(u32 self, u32 threads) {
    const u32 lanes = threads - self / 32 * 32;
    return {lanes < 32 ? (1u << lanes) - 1 : ~0u};
}

} // namespace ct
#endif
