#include "sweep.hpp"

#include "cpu.hpp"
#include "sweep_tile.hpp"

namespace bckm {

double sweep(const double* values, int count) {
    switch (best_isa()) {
#ifdef BCKM_X86_VARIANTS
        case Isa::avx512: return avx512::squares(values, count);
        case Isa::avx2: return avx2::squares(values, count);
#endif
        default: return baseline::squares(values, count);
    }
}

}  // namespace bckm
