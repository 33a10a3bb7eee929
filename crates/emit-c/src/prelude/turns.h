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
// runs up to its next barrier, then the one behind it, so that every run gives the same. Groups may still run side by side.
class Turns {
    struct Stopped {};
    std::mutex mutex;
    std::deque<std::condition_variable> wakes;
    std::vector<int> places;
    u32 turn = 0;
    std::exception_ptr failure;

    void await(std::unique_lock<std::mutex>& lock, u32 self) {
        wakes[self].wait(lock, [&] { return turn == self || failure; });
        if (failure) throw Stopped{};
    }
    void fail(std::exception_ptr why) {
        std::lock_guard<std::mutex> lock(mutex);
        if (!failure) failure = why;
        for (auto& wake : wakes) wake.notify_one();
    }

public:
    // Waits at the barrier of that number, where all must come; 0 is the end of the program.
    void wait(u32 self, int place, int line) {
        std::unique_lock<std::mutex> lock(mutex);
        places[self] = place;
        if (self > 0 && places[self - 1] != place) {
            lock.unlock();
            trap(line, "a barrier that not all threads reach");
        }
        turn = self + 1 < places.size() ? self + 1 : 0;
        if (turn != self) {
            wakes[turn].notify_one();
            await(lock, self);
        }
    }
    // Runs `body(self)` for all threads of a group.
    template <class F> void run(u32 threads, F body) {
        wakes.resize(threads);
        places.assign(threads, 0);
        std::vector<std::thread> team;
        for (u32 self = 0; self < threads; self++) team.emplace_back([&, self] {
            try {
                { std::unique_lock<std::mutex> lock(mutex); await(lock, self); }
                body(self);
                std::lock_guard<std::mutex> lock(mutex);
                turn = self + 1;
                if (turn < threads) wakes[turn].notify_one();
            } catch (Stopped&) {
            } catch (...) { fail(std::current_exception()); }
        });
        for (std::thread& one : team) one.join();
        if (failure) std::rethrow_exception(failure);
    }
};

} // namespace ct
#endif
