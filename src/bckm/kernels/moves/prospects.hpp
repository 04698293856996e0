// Where each item may go: the clusters near it, and those hops that may be worth a try now.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "moves/relaxed.hpp"

namespace bckm {

class Prospects {
public:
    explicit Prospects(const RelaxedClustering& clustering);

    // Finds near clusters anew. Listed are hops that would change objective and prices by at most
    // `reach` times a temperature, alone or in exchange for the best one in return. Returns the
    // work, in about nanoseconds. What is found stays valid, but grows old, while labels change;
    // if it was stopped, that is what was found before.
    double find(double reach, const std::function<bool()>& stop);

    // The change by which a median item is worse off in the best other cluster.
    double unit() const { return median; }

    const std::int64_t width;        // near clusters of an item
    std::vector<std::int32_t> near;  // the nearest first, (m, width); its own may be among them
    std::vector<Hop> hops;           // worth a try
    // Items that would go from a to b: returning[start[a * k + b]] to the next one.
    std::vector<std::int32_t> returning;
    std::vector<std::int32_t> start;

private:
    void find_pool();

    const RelaxedClustering& c;
    const std::int64_t number;  // clusters around a cluster in which items look for the near ones
    std::vector<std::int32_t> pool;  // (k, number)
    std::vector<double> change;      // of each item in each near cluster, (m, width)
    std::vector<double> least;       // of all items of a cluster in another one, (k, k)
    double median = 1.0;
};

}  // namespace bckm
