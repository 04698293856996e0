// Helpers by which tests/kernels reaches what has no door to Python of its own.
#pragma once

#include <nanobind/nanobind.h>

namespace bckm {

void add_checks(nanobind::module_& module);

}  // namespace bckm
