#include "transport/laplacian.hpp"

#include <cstddef>

namespace bckm {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

// Edges of each node: most pairs of clusters have no border.
struct Neighbors {
    std::vector<std::size_t> begin{0}, node;
    std::vector<double> weight;

    Neighbors(const double* edge, std::size_t k) {
        for (std::size_t a = 0; a < k; ++a) {
            for (std::size_t b = 0; b < k; ++b)
                if (edge[a * k + b] != 0.0) {
                    node.push_back(b);
                    weight.push_back(edge[a * k + b]);
                }
            begin.push_back(node.size());
        }
    }
};

}  // namespace

std::vector<double> degrees(const double* edge, std::int64_t k) {
    std::vector<double> degree(k, 0.0);
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t b = 0; b < k; ++b) degree[a] += edge[a * k + b];
    return degree;
}

// Preconditioned by the diagonal.
std::vector<double> solve_laplacian(const double* edge, const std::vector<double>& diagonal,
                                    const double* gradient, const bool* active, double accuracy,
                                    int max_rounds) {
    const std::size_t k = diagonal.size();
    const Neighbors near(edge, k);
    std::vector<double> x(k, 0.0), residual(k, 0.0), z(k, 0.0), direction(k, 0.0), product(k, 0.0);
    for (std::size_t i = 0; i < k; ++i)
        if (active[i]) {
            residual[i] = gradient[i];
            direction[i] = z[i] = residual[i] / diagonal[i];
        }
    double weight = dot(residual, z);
    const double enough = accuracy * accuracy * weight;
    for (int round = 0; round < max_rounds && weight > enough; ++round) {
        for (std::size_t a = 0; a < k; ++a) {
            double sum = diagonal[a] * direction[a];
            for (std::size_t e = near.begin[a]; e < near.begin[a + 1]; ++e)
                sum -= near.weight[e] * direction[near.node[e]];
            product[a] = active[a] ? sum : 0.0;
        }
        const double length = weight / dot(direction, product);
        for (std::size_t i = 0; i < k; ++i) {
            x[i] += length * direction[i];
            residual[i] -= length * product[i];
            z[i] = residual[i] / diagonal[i];
        }
        const double next = dot(residual, z);
        for (std::size_t i = 0; i < k; ++i) direction[i] = z[i] + next / weight * direction[i];
        weight = next;
    }
    return x;
}

}  // namespace bckm
