#include "moves/settling.hpp"

#include <algorithm>
#include <cmath>

namespace bckm {
namespace {

// How many points a cluster takes up while its price changes by one, in what borders give it on
// average: where sizes leave room; and where they do not, since far ends of chains are softer than
// near borders say.
constexpr double of_free = 1e3, of_fixed = 1.0;

using Matrix = std::vector<double>;  // (k, k)

// How many points leave each cluster as prices rise by one.
Matrix leaving(const Crowds& crowds, std::int64_t k) {
    Matrix out(k * k, 0.0);
    double all = 0.0;
    for (std::int64_t a = 0; a < k; ++a)
        for (std::int64_t b = 0; b < a; ++b) {
            const std::int64_t there = a * k + b, back = b * k + a;
            const double points = crowds.left[there] + crowds.left[back];
            if (!(points > 0.0)) continue;
            const double gaps = crowds.gaps[there] + crowds.gaps[back];
            const double open = points * points / (2.0 * std::max(gaps, crowds.near * points));
            out[there] -= open;
            out[back] -= open;
            out[a * k + a] += open;
            out[b * k + b] += open;
            all += 2.0 * open;
        }
    for (std::int64_t a = 0; a < k; ++a)
        out[a * k + a] +=
            (crowds.room[a] > 0.0 ? of_free : of_fixed) * all / static_cast<double>(k);
    return out;
}

// The factor of Cholesky: below the diagonal, and on it.
void factor(Matrix& matrix, std::int64_t k) {
    for (std::int64_t a = 0; a < k; ++a) {
        double* row = matrix.data() + a * k;
        for (std::int64_t b = 0; b <= a; ++b) {
            const double* other = matrix.data() + b * k;
            double sum = row[b];
            for (std::int64_t t = 0; t < b; ++t) sum -= row[t] * other[t];
            row[b] = a == b ? std::sqrt(sum) : sum / other[b];
        }
    }
}

// Each row of `crowds`, as a column, divided by the factor.
Matrix divided(const double* crowds, const Matrix& factor, std::int64_t k) {
    Matrix out(k * k);
    for (std::int64_t a = 0; a < k; ++a) {
        double* row = out.data() + a * k;
        for (std::int64_t i = 0; i < k; ++i) row[i] = crowds[i * k + a];
        for (std::int64_t b = 0; b < a; ++b) {
            const double *before = out.data() + b * k, times = factor[a * k + b];
            for (std::int64_t i = 0; i < k; ++i) row[i] -= times * before[i];
        }
        for (std::int64_t i = 0; i < k; ++i) row[i] /= factor[a * k + a];
    }
    return out;
}

}  // namespace

Settling settling(const Crowds& crowds, std::int64_t k) {
    Settling out;
    out.left.assign(k, 0.0);
    out.drawn.assign(k, 0.0);
    out.both.assign(k * k, 0.0);
    Matrix matrix = leaving(crowds, k);
    if (!(matrix[0] > 0.0)) return out;  // there are no borders
    factor(matrix, k);
    const Matrix left = divided(crowds.left, matrix, k), drawn = divided(crowds.drawn, matrix, k);
    for (std::int64_t a = 0; a < k; ++a) {
        const double *one = left.data() + a * k, *other = drawn.data() + a * k;
        for (std::int64_t i = 0; i < k; ++i) {
            out.left[i] += 0.5 * one[i] * one[i];
            out.drawn[i] += 0.5 * other[i] * other[i];
            double* both = out.both.data() + i * k;
            for (std::int64_t j = 0; j < k; ++j) both[j] += one[i] * other[j];
        }
    }
    return out;
}

}  // namespace bckm
