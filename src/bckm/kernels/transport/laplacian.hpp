// Newton steps on the prices of clusters: a linear system with the Laplacian of a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace bckm {

// Samples that change between clusters a and b per unit of price.
struct Edge {
    std::int32_t a, b;
    double weight;
};

// The edges of each cluster, both ways; most pairs of clusters have no border.
struct Graph {
    // From a symmetric matrix, (k, k).
    Graph(const double* edge, std::int64_t k);
    // Edges of the same pair are added up in the order in which they are given.
    Graph(const std::vector<Edge>& edges, std::int64_t k);

    // Sum of the edges of each cluster.
    std::vector<double> degrees() const;

    std::vector<std::size_t> begin{0};
    std::vector<std::int32_t> node;
    std::vector<double> weight;
};

// Solves (diagonal - edges) x = gradient over the active clusters, by conjugate gradients, to this
// accuracy; x is zero for all others.
std::vector<double> solve_laplacian(const Graph& graph, const std::vector<double>& diagonal,
                                    const double* gradient, const bool* active, double accuracy,
                                    int max_rounds);

}  // namespace bckm
