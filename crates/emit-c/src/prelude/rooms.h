#ifndef COTANGENT_ROOMS
#define COTANGENT_ROOMS
#include <new>

namespace ct {

// A variable that is too large for the stack. What a loop does not write of it takes no memory on most systems.
template <class T> class Room {
    T* value;
  public:
    Room() : value(new (std::nothrow) T) {
        if (!value) trap(0, "memory limit reached");
    }
    ~Room() { delete value; }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    T& operator*() { return *value; }
};

} // namespace ct
#endif
