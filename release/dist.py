"""Build the sdist and the wheel into dist/, look into them, and try each where it is installed.

``python release/dist.py``, or ``make dist``. Needs the package `build`, and a C++ compiler.
Environments are made outside the repository and thrown away: the wheel and, once more, the sdist
are installed where no compiler can be found, the sdist also where there is one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"

# What a wheel may hold, and an sdist; anything else is an accident
WHEEL = re.compile(
    r"bckm/([\w/]+\.(py|pyi|csv|cu)|app/static/[\w./-]+|py\.typed|kernels/_native\.[\w.-]+\.(so|pyd))"
    r"|bckm-[\w.]+\.dist-info/[\w./]+"
)
SDIST = re.compile(
    r"(CMakeLists\.txt|LICENSE|PKG-INFO|README\.md|CITATION\.cff|pyproject\.toml)"
    r"|src/bckm/([\w/]+\.(py|pyi|csv|cu|cpp|hpp)|app/static/[\w./-]+|py\.typed"
    r"|kernels/([\w/]+/)?README\.md)"
)
GPU = ("common", "best", "exact", "pairs", "listing", "sums", "soft")
KERNELS = {f"bckm/blocks/gpu/{name}.cu" for name in GPU}  # compiled where there is a GPU
NEEDED = {"CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "src/bckm/py.typed"}
NEEDED |= {f"src/{name}" for name in KERNELS}


def main() -> None:
    """Build, look, install, try."""
    shutil.rmtree(DIST, ignore_errors=True)
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    look(sdist_names(sdist), SDIST, NEEDED, sdist.name)
    look(wheel_names(wheel), WHEEL, {"bckm/py.typed", "bckm/__init__.py", *KERNELS}, wheel.name)
    kernels = [name for name in wheel_names(wheel) if "_native." in name]
    assert any(not name.endswith(".pyi") for name in kernels), "the wheel has no kernels"
    for package, compiler, built in (
        (wheel, False, "compiled"),
        (sdist, True, "compiled"),
        (sdist, False, "pure"),
    ):
        install_and_try(package, compiler, built)
    print(f"\n{sdist.name} and {wheel.name} in dist/ are good.")


def sdist_names(path: Path) -> set[str]:
    """Files of an sdist, without its folder."""
    with tarfile.open(path) as archive:
        return {one.name.split("/", 1)[1] for one in archive if one.isfile()}


def wheel_names(path: Path) -> set[str]:
    """Files of a wheel."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def look(names: set[str], allowed: re.Pattern[str], needed: set[str], package: str) -> None:
    """Refuse a package with files that do not belong there, or without some that do."""
    odd = sorted(name for name in names if not allowed.fullmatch(name))
    if odd:
        sys.exit(f"{package} holds what it should not: {', '.join(odd)}")
    if needed - names:
        sys.exit(f"{package} lacks {', '.join(sorted(needed - names))}")


def install_and_try(package: Path, compiler: bool, built: str) -> None:
    """Install into a fresh environment and run smoke.py there."""
    print(f"\n{package.name}, {'with' if compiler else 'without'} a compiler", flush=True)
    with tempfile.TemporaryDirectory(prefix="bckm-dist-") as name:
        folder = Path(name)
        if folder.resolve().is_relative_to(ROOT):
            sys.exit("temporary folders are inside the repository: set TMPDIR to another place")
        home = folder / "venv"
        venv.create(home, with_pip=True)
        python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
        work = folder / "work"
        work.mkdir()
        around = environment(python.parent, compiler)
        _run(
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-cache-dir",
            package,
            cwd=work,
            env=around,
        )
        shutil.copy(ROOT / "release" / "smoke.py", work)
        _run(python, "smoke.py", home, built, cwd=work, env=around)


def environment(scripts: Path, compiler: bool) -> dict[str, str]:
    """Variables without traces of the repository, and perhaps without any compiler."""
    drop = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "BCKM_PURE", "BCKM_ISA")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    if compiler:
        return kept | {"PATH": f"{scripts}{os.pathsep}{kept['PATH']}"}
    nothing = shutil.which("false") or "false"
    return kept | {"PATH": str(scripts), "CC": nothing, "CXX": nothing}


def _run(*command: str | Path, **how: object) -> None:
    done = subprocess.run([str(one) for one in command], **how)
    if done.returncode:
        sys.exit(f"failed ({done.returncode}): {' '.join(map(str, command))}")


if __name__ == "__main__":
    main()
