"""Compare versions: ``python -m benchmarks.regression write OUT.json | compare A.json B.json``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # before NumPy is imported

from benchmarks.regression.answers import differences, table  # noqa: E402

DESCRIPTION = """\
Do two versions of the library give the same answers?

  write    fit the known instances, drawn ones with every kind of rule and every engine, and the
           examples; write labels, inertia, bounds and statuses to a file. About three minutes.
  compare  two such files: what is alike and what differs; 1 if anything does.

Seeds are fixed and there are no time limits: the same code writes the same file on one machine.
"""


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and write or compare; 1 if answers differ."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.regression",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    writing = verbs.add_parser("write")
    writing.add_argument("out", type=Path)
    writing.add_argument("--instances", type=Path, default=Path("..", "shared", "instances"),
                         help="folder of known.json; default: %(default)s")  # fmt: skip
    writing.add_argument("--only", default="", help="families whose names contain this")
    comparing = verbs.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--inertia", type=float, default=1e-9, metavar="SHARE",
                           help="numbers may differ by this share; default: 1e-9")  # fmt: skip
    options = parser.parse_args(arguments)
    if options.verb == "write":
        return write(options.out, options.instances, options.only)
    return compare(options.before, options.after, options.inertia)


def write(out: Path, instances: Path, only: str = "") -> int:
    """Fit everything, and write the answers by family and name."""
    from benchmarks.regression.instances import fits

    found: dict[str, dict[str, dict[str, object]]] = {}
    seconds: dict[str, float] = {}
    for one in fits(instances):
        if only in one.family:
            began = time.process_time()
            found.setdefault(one.family, {})[one.name] = one.run()
            took = time.process_time() - began
            seconds[one.family] = seconds.get(one.family, 0.0) + took
            if took > 1:
                print(f"{one.family} / {one.name}: {took:.1f} s", file=sys.stderr, flush=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
    for family, answers in found.items():
        print(f"{family:24} {len(answers):4} fits {seconds[family]:6.1f} s")
    return 0


def compare(before: Path, after: Path, within: float) -> int:
    """Print what differs."""
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (before, after))
    found = list(differences(old, new, within))
    print(table(old, found))
    if found:
        print("", *found, sep="\n")
    print(f"\n{'Answers differ' if found else 'All answers are the same'}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
