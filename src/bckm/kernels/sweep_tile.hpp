// One tile of the distance pass, compiled once per instruction set.
#pragma once

namespace bckm {

#define BCKM_DECLARE(isa)                              \
    namespace isa {                                    \
    double squares(const double* values, int count);   \
    }
BCKM_DECLARE(baseline)
BCKM_DECLARE(avx2)
BCKM_DECLARE(avx512)
#undef BCKM_DECLARE

}  // namespace bckm
