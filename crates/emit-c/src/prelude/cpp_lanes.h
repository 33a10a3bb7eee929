#ifndef COTANGENT_LANES
#define COTANGENT_LANES
namespace ct {

// The lanes of a wave that are together: 32 threads of a group that follow each other make one.
struct Lanes {
    u32 mask;
    Turns* turns;
    u32 thread;

    u32 self() const { return thread % 32; }
    u32 first() const { u32 lane = 0; while (!(mask >> lane & 1)) lane++; return lane; }
    // Calls `f` with every lane and what it gives, in order.
    template <class T, class F> void each(const T& value, F f) const {
        T all[32];
        turns->meet(thread, mask, value, all);
        for (u32 lane = 0; lane < 32; lane++)
            if (mask >> lane & 1) f(lane, all[lane]);
    }
    u32 ballot(bool b) const {
        u32 out = 0;
        each(b, [&](u32 lane, bool other) { out |= u32(other) << lane; });
        return out;
    }
    u32 alike(u32 x) const {
        u32 out = 0;
        each(x, [&](u32 lane, u32 other) { out |= u32(other == x) << lane; });
        return out;
    }
    template <class T> T at(const T& value, u32 from) const {
        T out{};
        each(value, [&](u32 lane, const T& other) { if (lane == from) out = other; });
        return out;
    }
};
// All lanes of the wave of a thread.
inline Lanes wave_of(Turns* turns, u32 self, u32 threads) {
    const u32 lanes = threads - self / 32 * 32;
    return {lanes < 32 ? (1u << lanes) - 1 : ~0u, turns, self};
}

} // namespace ct
#endif
