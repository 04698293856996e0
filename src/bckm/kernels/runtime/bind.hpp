// What further files bind to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace bckm {

void add_blocks(nanobind::module_& module);
void add_coarse(nanobind::module_& module);
void add_moves(nanobind::module_& module);
void add_links(nanobind::module_& module);

}  // namespace bckm
