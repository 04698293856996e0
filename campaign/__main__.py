"""``python -m campaign [PART ...]``: run parts, tell what came of them, keep it in results/."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from campaign import summary
from campaign.runner import PARTS, PROCESSES, Tally, look_at, part_of, run


def main() -> int:
    """Run what is asked for; 1 if anything failed."""
    asked = argparse.ArgumentParser(prog="python -m campaign", description=__doc__)
    asked.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", help=str(PARTS))
    asked.add_argument("--count", type=int, help="how many, of what the part counts")
    asked.add_argument("--share", type=float, default=1.0, help="share of the full counts")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--case", type=int, help="one case of one part, in this process")
    asked.add_argument("--processes", type=int, default=PROCESSES)
    asked.add_argument("--results", type=Path, default=Path("results"))
    given = asked.parse_args()
    names = given.parts or list(PARTS)
    if given.case is not None:
        if len(names) != 1:
            asked.error("--case needs the name of one part")
        counts, wrong = look_at(part_of(names[0]), given.seed, given.case)
        print(wrong or f"{names[0]} case {given.case}, seed {given.seed}: {dict(counts)}; held")
        return int(wrong is not None)

    def tell(found: Tally, seconds: float) -> None:
        part = part_of(found.name)
        print(
            f"{found.name:12} {found.counts[part.what]:>9,} {part.what}, {found.cases:,} cases, "
            f"{found.failed} failures, seed {given.seed}, {seconds:.0f} s "
            f"({found.cpu:.0f} s of CPU)",
            flush=True,
        )

    def warn(name: str, failure: dict[str, Any]) -> None:
        case = failure["case"]
        last = failure["wrong"].strip().splitlines()[-6:]  # the summary keeps all of it
        print(f"{name} case {case} failed: make campaign PART={name} SEED={given.seed} CASE={case}")
        print("    " + "\n    ".join(last), flush=True)

    began = time.perf_counter()
    found = run(
        names,
        given.seed,
        count=given.count,
        share=given.share,
        processes=given.processes,
        tell=tell,
        warn=warn,
    )
    seconds = time.perf_counter() - began
    summary.write(found, given.seed, given.results)
    failed = sum(one.failed for one in found.values())
    print(f"{failed} failures in {seconds / 60:.1f} minutes; written to {given.results}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
