#include "runtime/cpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#if defined(BCKM_X86_VARIANTS) && defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace bckm {
namespace {

#if !defined(BCKM_X86_VARIANTS)

Isa supported() { return Isa::baseline; }

#elif defined(_MSC_VER)

bool has(int word, int bit) { return (word >> bit) & 1; }

Isa supported() {
    int leaf[4];  // eax, ebx, ecx, edx
    __cpuid(leaf, 0);
    if (leaf[0] < 7) return Isa::baseline;
    __cpuid(leaf, 1);
    const bool fma = has(leaf[2], 12), xsave = has(leaf[2], 27);
    if (!fma || !xsave) return Isa::baseline;
    // the CPU alone is not enough: the operating system must save the wide registers
    const unsigned long long saved = _xgetbv(0);
    const bool saves_avx = (saved & 0x06) == 0x06, saves_avx512 = (saved & 0xe6) == 0xe6;
    __cpuidex(leaf, 7, 0);
    const int ebx = leaf[1];
    const bool avx2 = has(ebx, 5);
    const bool avx512 = has(ebx, 16) && has(ebx, 17) && has(ebx, 30) && has(ebx, 31);
    if (!avx2 || !saves_avx) return Isa::baseline;
    return avx512 && saves_avx512 ? Isa::avx512 : Isa::avx2;
}

#else

// the compiler's helper asks both the CPU and the operating system
Isa supported() {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::baseline;
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return avx512 ? Isa::avx512 : Isa::avx2;
}

#endif

Isa choose() {
    const char* asked = std::getenv("BCKM_ISA");
    if (asked == nullptr || *asked == '\0') return supported();
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
        if (std::string(asked) == name(isa)) return std::min(isa, supported());
    throw std::invalid_argument("BCKM_ISA is '" + std::string(asked) +
                                "'; use baseline, avx2 or avx512.");
}

}  // namespace

Isa best_isa() {
    static const Isa chosen = choose();
    return chosen;
}

const char* name(Isa isa) {
    switch (isa) {
        case Isa::avx2: return "avx2";
        case Isa::avx512: return "avx512";
        case Isa::baseline: break;
    }
    return "baseline";
}

}  // namespace bckm
