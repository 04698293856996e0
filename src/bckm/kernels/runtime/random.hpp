// Pseudo-random numbers: the same from the same seed, everywhere.
#pragma once

#include <cstdint>
#include <vector>

namespace bckm {

// xoshiro256++ (Blackman, Vigna), seeded by splitmix64
class Random {
public:
    explicit Random(std::uint64_t seed) {
        for (std::uint64_t& s : state) {
            seed += 0x9e3779b97f4a7c15U;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
            z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
            s = z ^ (z >> 31U);
        }
    }
    std::uint64_t bits() {
        const std::uint64_t result = rotated(state[0] + state[3], 23U) + state[0];
        const std::uint64_t t = state[1] << 17U;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= t;
        state[3] = rotated(state[3], 45U);
        return result;
    }
    // One of 0 to n - 1.
    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(((bits() >> 32U) * static_cast<std::uint64_t>(n)) >> 32U);
    }
    template <class T> T of(const std::vector<T>& list) {
        return list[below(static_cast<std::int64_t>(list.size()))];
    }

private:
    static std::uint64_t rotated(std::uint64_t x, unsigned by) {
        return (x << by) | (x >> (64U - by));
    }
    std::uint64_t state[4];
};

}  // namespace bckm
