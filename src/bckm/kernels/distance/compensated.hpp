// A sum carried in two numbers, so that what rounding takes off is not lost.
#pragma once

namespace bckm {

struct Compensated {
    double high = 0.0, low = 0.0;

    void add(double value) {  // Knuth's two-sum
        const double sum = high + value, part = sum - high;
        low += (high - (sum - part)) + (value - part);
        high = sum;
    }
    double value() const { return high + low; }
};

}  // namespace bckm
