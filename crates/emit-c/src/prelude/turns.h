#ifndef COTANGENT_TURNS
#define COTANGENT_TURNS
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ct {

// The threads of a group, for programs in which they wait for each other. Each has a thread of the host, and they take turns: one
// runs up to its next barrier or to where it meets others, then the one behind it that can, so that every run gives the same.
// Groups may still run side by side.
class Turns {
    struct Stopped {};
    // What a thread does that is at no barrier.
    enum : int { running = -1, meeting = -2, ended = -3 };
    struct One {
        std::condition_variable wake;
        int place = running, line = 0;
        u32 mask = 0;
        const void* given = nullptr;
        void* all = nullptr;
    };
    std::mutex mutex;
    std::deque<One> team;
    u32 turn = 0;
    std::exception_ptr failure;

    void await(std::unique_lock<std::mutex>& lock, u32 self) {
        team[self].wake.wait(lock, [&] { return turn == self || failure; });
        if (failure) throw Stopped{};
    }
    void fail(std::exception_ptr why) {
        std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = why;
        for (One& one : team) one.wake.notify_one();
    }
    // The next thread that can run. When none can, all must be at one barrier, and go on.
    u32 next(std::unique_lock<std::mutex>& lock, u32 self) {
        const u32 count = u32(team.size());
        for (u32 i = 1; i <= count; i++)
            if (team[(self + i) % count].place == running) return (self + i) % count;
        for (const One& one : team) {
            if (one.place == team[0].place) continue;
            const int line = one.line ? one.line : team[0].line;
            lock.unlock();
            trap(line, "barrier not reached by all threads of the group");
        }
        if (team[0].place != ended)
            for (One& one : team) one.place = running;
        return 0;
    }
    void pass(std::unique_lock<std::mutex>& lock, u32 self) {
        turn = next(lock, self);
        if (turn == self) return;
        team[turn].wake.notify_one();
        await(lock, self);
    }

public:
    // Waits at the barrier of that number, where all must come; 0 is the end of the program.
    void wait(u32 self, int place, int line) {
        std::unique_lock<std::mutex> lock(mutex);
        team[self].place = place;
        team[self].line = line;
        pass(lock, self);
    }
    // Waits for those of 32 threads that are in `mask`, and gets what each gives. The last one hands out.
    template <class T> void meet(u32 self, u32 mask, const T& value, T* all) {
        std::unique_lock<std::mutex> lock(mutex);
        One& own = team[self];
        own.place = meeting;
        own.mask = mask;
        own.given = &value;
        own.all = all;
        const auto each = [&](auto f) {
            for (u32 lane = 0; lane < 32; lane++)
                if (mask >> lane & 1) f(lane, team[self / 32 * 32 + lane]);
        };
        bool complete = true;
        each([&](u32, One& one) { complete &= one.place == meeting && one.mask == mask; });
        if (complete) {
            each([&](u32, One& to) {
                each([&](u32 lane, One& from) { static_cast<T*>(to.all)[lane] = *static_cast<const T*>(from.given); });
            });
            each([&](u32, One& one) { one.place = running; });
        }
        pass(lock, self);
    }
    // Runs `body(self)` for all threads of a group.
    template <class F> void run(u32 threads, F body) {
        team.resize(threads);
        std::vector<std::thread> hosts;
        for (u32 self = 0; self < threads; self++) hosts.emplace_back([&, self] {
            try {
                { std::unique_lock<std::mutex> lock(mutex); await(lock, self); }
                body(self);
                std::unique_lock<std::mutex> lock(mutex);
                team[self].place = ended;
                turn = next(lock, self);
                team[turn].wake.notify_one();
            } catch (Stopped&) {
            } catch (...) { fail(std::current_exception()); }
        });
        for (std::thread& one : hosts) one.join();
        if (failure) std::rethrow_exception(failure);
    }
};

} // namespace ct
#endif
