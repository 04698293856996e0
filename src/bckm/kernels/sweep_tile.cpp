// Compiled once per instruction set; BCKM_ISA names the namespace. Nothing inline from a header may
// end up here (no std::vector, no std::min): the linker keeps one copy of such a function for the
// whole module, and if that is the AVX-512 one, an older machine dies of it far from here.
#include "sweep_tile.hpp"

namespace bckm::BCKM_ISA {

double squares(const double* values, int count) {
    double total = 0.0;
    for (int i = 0; i < count; ++i) total += values[i] * values[i];
    return total;
}

}  // namespace bckm::BCKM_ISA
