// Vectors of numbers that begin at a line of the cache.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace bckm {

constexpr std::size_t line_size = 64;  // bytes, and the longest register

template <typename T> struct LineAllocator {
    using value_type = T;

    LineAllocator() = default;
    template <typename U> LineAllocator(const LineAllocator<U>&) {}

    T* allocate(std::size_t count) {
        return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t{line_size}));
    }
    void deallocate(T* place, std::size_t) {
        ::operator delete(place, std::align_val_t{line_size});
    }
    template <typename U> bool operator==(const LineAllocator<U>&) const { return true; }
    template <typename U> bool operator!=(const LineAllocator<U>&) const { return false; }
};

// Loops that read whole registers from here touch one line each time, and not two.
template <typename T> using Lines = std::vector<T, LineAllocator<T>>;

}  // namespace bckm
