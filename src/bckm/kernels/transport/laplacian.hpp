// Newton steps on the prices of clusters: a linear system with the Laplacian of a graph.
#pragma once

#include <cstdint>
#include <vector>

namespace bckm {

// Edge (a, b) of the graph weighs the samples that change between clusters a and b per unit of
// price; the matrix is symmetric, (k, k), and most of it is zero.

// Sum of the edges of each cluster.
std::vector<double> degrees(const double* edge, std::int64_t k);

// Solves (diagonal - edges) x = gradient over the active clusters, by conjugate gradients, to this
// accuracy; x is zero for all others.
std::vector<double> solve_laplacian(const double* edge, const std::vector<double>& diagonal,
                                    const double* gradient, const bool* active, double accuracy,
                                    int max_rounds);

}  // namespace bckm
