"""The compiled module as such: how it is found and left out, its threads, its variants."""

import ast
import importlib.metadata
import multiprocessing
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bckm import kernels
from bckm.kernels import native

ROOT = Path(__file__).parents[2]
VARIANTS = ["baseline", "avx2", "avx512"]

needs_native = pytest.mark.skipif(bool(kernels.missing), reason=kernels.missing)


def python(code, **environment):
    """What `code` prints in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def total(n):
    return n * (n - 1) // 2


def can_compile():
    """Whether a C++17 compiler and Python's headers are here."""
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    include = ["-I", sysconfig.get_path("include")]
    try:
        done = subprocess.run(
            [*compiler, "-std=c++17", "-fsyntax-only", *include, "-x", "c++", "-"],
            input="#include <Python.h>\n#include <atomic>\n",
            capture_output=True,
            text=True,
            timeout=60,
        )
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.skipif("BCKM_PURE" in kernels.missing, reason=kernels.missing)
@pytest.mark.skipif(not can_compile(), reason="no C++17 compiler or no Python.h here")
def test_a_machine_that_can_compile_has_the_kernels():
    """An error in the kernels must not pass for a machine without a compiler."""
    assert not kernels.missing, "run `make kernels` to see what the compiler says"


@needs_native
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("n", [0, 1, 3, 10_000])
def test_every_chunk_runs_once(n, nested, threads):
    assert native._sum_of_chunks(n, threads, nested=nested) == total(n)


@needs_native
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_chunks_run_at_the_same_time(threads):
    assert native._meet(threads) == threads


@needs_native
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("fail_at", [0, 500, 999])
def test_an_exception_reaches_the_caller_and_the_pool_lives_on(threads, fail_at):
    with pytest.raises(RuntimeError, match=f"chunk {fail_at}"):
        native._sum_of_chunks(1000, threads, fail_at=fail_at)
    assert native._sum_of_chunks(1000, threads) == total(1000)


@needs_native
def test_several_python_threads_at_once():
    def ask(n):
        return [native._sum_of_chunks(n, 3, nested=n % 2 == 0) for _ in range(8000)]

    with ThreadPoolExecutor(4) as threads:
        for n, found in enumerate(threads.map(ask, range(20, 28)), 20):
            assert set(found) == {total(n)}


@needs_native
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_child_gets_its_own_pool():
    assert native._meet(2) == 2  # the parent has threads, which the child will not have
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=lambda: answers.put(native._meet(2)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads: the very point
        child.start()
    child.join(timeout=20)
    hung = child.is_alive()
    child.kill()
    assert not hung
    assert not answers.empty(), "the child ended without an answer"
    assert answers.get() == 2
    assert native._meet(2) == 2


@needs_native
def test_the_process_ends_cleanly_with_idle_and_with_busy_threads():
    code = """
import threading
from bckm.kernels import native
native._meet(4)
def work():
    while True:
        native._sum_of_chunks(1000, 3)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
print("end")
"""
    for _ in range(5):
        assert python(code) == "end"


@needs_native
def test_the_variant_obeys_the_environment_and_the_machine():
    ask = "from bckm.kernels import native; print(native.isa())"
    best = VARIANTS.index(python(ask, BCKM_ISA=""))
    for wish, name in enumerate(VARIANTS):
        assert python(ask, BCKM_ISA=name) == VARIANTS[min(wish, best)]


@needs_native
def test_an_unknown_variant_is_refused():
    with pytest.raises(AssertionError, match="ValueError: BCKM_ISA is 'sse'"):
        python("from bckm.kernels import native; native.isa()", BCKM_ISA="sse")


def test_variants_share_no_code_with_the_rest():
    """A weak symbol in a variant may replace the one that all machines run."""
    names = ("tile_kernel", "row_loops", "shortest_tree")
    objects = [path for name in names for path in (ROOT / "build").glob(f"cp*/**/{name}.cpp.o")]
    if not objects or not shutil.which("nm"):
        pytest.skip("no build directory beside the sources, or no nm")
    for path in objects:
        listed = subprocess.run(
            ["nm", "--defined-only", path], capture_output=True, text=True, check=True, timeout=60
        )
        symbols = [line.split() for line in listed.stdout.splitlines()]
        assert any(kind == "T" for _, kind, _ in symbols)
        assert [name for _, kind, name in symbols if kind in "uVW"] == [], path.parent


@needs_native
def test_the_stub_is_that_of_the_module():
    stub = ROOT / "src/bckm/kernels/_native.pyi"
    if not stub.exists():
        pytest.skip("no editable installation")
    declared = {getattr(node, "name", None) for node in ast.parse(stub.read_text()).body} - {None}
    assert declared == {name for name in dir(native) if not name.startswith("_")}


def test_without_compiled_kernels_everything_works():
    code = """
import numpy as np, bckm
from bckm import kernels
assert kernels.native is None
X = np.random.default_rng(0).normal(size=(30, 2))
result = bckm.kmeans(X, 3, bckm.Constraints(size_min=10), random_state=0)
print(result.sizes.tolist(), kernels.missing)
"""
    printed = python(code, BCKM_PURE="1")
    assert printed.startswith("[10, 10, 10] ")
    assert printed.endswith("BCKM_PURE is set.")


@needs_native
@pytest.mark.parametrize("value", ["", "0"])
def test_an_empty_wish_for_pure_python_is_none(value):
    assert python("from bckm import kernels; print(kernels.missing)", BCKM_PURE=value) == ""


def test_a_missing_module_is_explained():
    """The sources as they are, without what an installation adds to them."""
    code = f"""
import sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
sys.meta_path[:] = [BuiltinImporter, FrozenImporter, PathFinder]
sys.path[:0] = [{str(ROOT / "src")!r}]
from bckm import kernels
print(kernels.native, kernels.missing)
"""
    printed = python(code, BCKM_PURE="")
    assert printed.startswith("None this installation of bckm has no compiled kernels")


def test_the_import_is_light():
    code = """
import sys
import bckm
heavy = ["highspy", "matplotlib", "pandas", "sklearn", "scipy.optimize", "scipy.spatial"]
print([name for name in heavy if name in sys.modules])
"""
    assert python(code) == "[]"


def test_the_version_of_the_package_is_that_of_the_code():
    assert importlib.metadata.version("bckm") == python("import bckm; print(bckm.__version__)")
