// The best exchange of one or two items of a cluster for as many of another one.
#pragma once

#include <cstdint>
#include <vector>

#include "moves/relaxed.hpp"

namespace bckm {

// Swaps that are made together; `change` is that of the sum of squares between clusters.
struct PairSwaps {
    int number = 0;
    std::int64_t j[2] = {}, l[2] = {};
    double change = 0.0;
};

// When sums s_a and s_b are in the hands of items of equal mass, a swap adds u = w (y - x) to the
// one and takes it from the other, and what is between the two clusters becomes
// (1 / W_a + 1 / W_b) |u - t|^2 + constant for a target t: the best swaps are nearest neighbors,
// and two of them together are at their best where one is near the other's mirror image in t / 2.
class PairExchange {
public:
    explicit PairExchange(const RelaxedClustering& clustering);

    // Items of a and of b, all of the same mass; `work` is added to.
    PairSwaps find(std::int64_t a, const std::vector<std::int32_t>& from, std::int64_t b,
                   const std::vector<std::int32_t>& to, double& work);

private:
    struct Candidate {
        double far;  // from half of the target, squared
        std::int32_t j, l;
    };

    void list(const std::vector<std::int32_t>& from, const std::vector<std::int32_t>& to,
              double mass);
    bool alike(std::int64_t j, std::int64_t l) const;
    void squares(const std::vector<double>& rows, std::int64_t n, const std::vector<double>& others,
                 std::int64_t m);

    const RelaxedClustering& c;
    std::vector<double> target;      // half of it, (dims,)
    std::vector<double> row, other;  // points to measure from, and to
    std::vector<double> columns;     // the latter in blocks of eight
    std::vector<double> square;      // what is measured, (n, padded(m))
    std::vector<Candidate> candidates;
};

}  // namespace bckm
