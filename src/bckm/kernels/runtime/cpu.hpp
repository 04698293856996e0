// Which variant of the distance pass this machine can run.
#pragma once

namespace bckm {

// In rising order: a machine that has one has all before it.
enum class Isa { baseline, avx2, avx512 };

// The best variant that was compiled and that the CPU and the operating system support. The
// environment variable BCKM_ISA (baseline, avx2 or avx512) lowers it, so that tests reach every
// variant; it never raises it. Read once per process: a run must not change its arithmetic halfway.
// Throws std::invalid_argument if BCKM_ISA holds another word.
Isa best_isa();

const char* name(Isa isa);

}  // namespace bckm
