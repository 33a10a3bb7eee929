#ifndef COTANGENT_RECURSION
#define COTANGENT_RECURSION

// How many bytes of the stack recursive functions may take. Define it before this file to change the limit.
#ifndef COTANGENT_STACK
#define COTANGENT_STACK (4u << 20)
#endif

namespace ct {

// Counts one call of a recursive function. Traps at the depth at which the interpreter does, or before the stack is full.
struct Call {
    static constexpr u32 most = 10000;
    struct Calls {
        u32 depth = 0;
        std::uintptr_t first = 0;
    };
    static Calls& calls() {
        static thread_local Calls all;
        return all;
    }
    CT_INLINE explicit Call(int line) {
#if defined(__GNUC__) || defined(__clang__)
        const std::uintptr_t here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
#else
        const std::uintptr_t here = reinterpret_cast<std::uintptr_t>(this);
#endif
        Calls& all = calls();
        if (all.depth == 0) all.first = here;
        const std::uintptr_t taken = here < all.first ? all.first - here : here - all.first;
        if (CT_UNLIKELY(all.depth >= most || taken > COTANGENT_STACK)) trap(line, "calls nest too deeply");
        all.depth++;
    }
    CT_INLINE ~Call() { calls().depth--; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
};

} // namespace ct
#endif
