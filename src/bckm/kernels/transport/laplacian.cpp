#include "transport/laplacian.hpp"

#include <algorithm>

namespace bckm {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

}  // namespace

Graph::Graph(const double* edge, std::int64_t k) {
    begin.reserve(k + 1);
    for (std::int64_t a = 0; a < k; ++a) {
        for (std::int64_t b = 0; b < k; ++b)
            if (edge[a * k + b] != 0.0) {
                node.push_back(static_cast<std::int32_t>(b));
                weight.push_back(edge[a * k + b]);
            }
        begin.push_back(node.size());
    }
}

Graph::Graph(const std::vector<Edge>& edges, std::int64_t k) {
    std::vector<std::size_t> place(k + 1, 0);
    for (const Edge& e : edges) {
        ++place[e.a + 1];
        ++place[e.b + 1];
    }
    for (std::int64_t a = 0; a < k; ++a) place[a + 1] += place[a];
    struct End {
        std::int32_t node;
        double weight;
    };
    std::vector<End> end(2 * edges.size());
    for (const Edge& e : edges) {
        end[place[e.a]++] = {e.b, e.weight};
        end[place[e.b]++] = {e.a, e.weight};
    }
    std::vector<double> sum(k, 0.0);
    std::vector<std::int32_t> met;
    begin.reserve(k + 1);
    std::size_t from = 0;
    for (std::int64_t a = 0; a < k; ++a) {
        met.clear();
        for (; from < place[a]; ++from) {  // `place` has gone on to the end of each cluster
            if (sum[end[from].node] == 0.0) met.push_back(end[from].node);
            sum[end[from].node] += end[from].weight;
        }
        std::sort(met.begin(), met.end());
        for (const std::int32_t b : met) {
            node.push_back(b);
            weight.push_back(sum[b]);
            sum[b] = 0.0;
        }
        begin.push_back(node.size());
    }
}

std::vector<double> Graph::degrees() const {
    std::vector<double> degree(begin.size() - 1, 0.0);
    for (std::size_t a = 0; a < degree.size(); ++a)
        for (std::size_t e = begin[a]; e < begin[a + 1]; ++e) degree[a] += weight[e];
    return degree;
}

// Preconditioned by the diagonal.
std::vector<double> solve_laplacian(const Graph& graph, const std::vector<double>& diagonal,
                                    const double* gradient, const bool* active, double accuracy,
                                    int max_rounds) {
    const std::size_t k = diagonal.size();
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
            for (std::size_t e = graph.begin[a]; e < graph.begin[a + 1]; ++e)
                sum -= graph.weight[e] * direction[graph.node[e]];
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
