// The door to Python: checks of arguments and types here, arithmetic in the other files.
#include <nanobind/nanobind.h>

#include "checks.hpp"
#include "cpu.hpp"

namespace nb = nanobind;

NB_MODULE(_native, module) {
    module.doc() = "Compiled kernels of bckm; use them through bckm.kernels.";
    module.def("isa", [] { return bckm::name(bckm::best_isa()); });
    bckm::add_checks(module);
}
