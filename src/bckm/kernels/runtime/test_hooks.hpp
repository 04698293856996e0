// Functions for tests/kernels alone; only in editable installations (BCKM_TEST_HOOKS).
#pragma once

#include <nanobind/nanobind.h>

namespace bckm { void add_test_hooks(nanobind::module_& module); }  // namespace bckm
