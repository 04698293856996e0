"""Citation and packages: the version is the same everywhere, and packages hold what they should."""

import re
from pathlib import Path

import pytest

import bckm
from release.dist import NEEDED, SDIST, WHEEL, environment, look

ROOT = Path(__file__).parents[2]


def test_citation_names_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^type: software$", citation, re.M)
    assert re.findall(r"^version: (.+)$", citation, re.M) == [bckm.__version__]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"version\s*=\s*\{(.+?)\}", readme)) <= {bckm.__version__}


@pytest.mark.parametrize(
    "odd", ["bckm/kernels/sums.cpp", "bckm/kernels/sums.hpp", "CMakeLists.txt", "tests/__init__.py"]
)
def test_a_wheel_with_sources_is_refused(odd):
    good = {"bckm/py.typed", "bckm/fit/kmeans.py", "bckm-0.1.0.dist-info/licenses/LICENSE"}
    look(good, WHEEL, {"bckm/py.typed"}, "w.whl")
    with pytest.raises(SystemExit, match=re.escape(f"w.whl holds what it should not: {odd}")):
        look({*good, odd}, WHEEL, set(), "w.whl")


def test_an_sdist_is_what_building_needs():
    look({*NEEDED, "src/bckm/kernels/sums.cpp"}, SDIST, NEEDED, "s.tar.gz")
    with pytest.raises(SystemExit, match=r"s\.tar\.gz lacks CMakeLists\.txt"):
        look(NEEDED - {"CMakeLists.txt"}, SDIST, NEEDED, "s.tar.gz")
    with pytest.raises(SystemExit, match=r"docs/index\.md"):
        look({*NEEDED, "docs/index.md"}, SDIST, NEEDED, "s.tar.gz")


def test_an_environment_has_no_trace_of_the_repository(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "src")
    monkeypatch.setenv("BCKM_PURE", "1")
    for compiler in (True, False):
        around = environment(Path("home", "bin"), compiler)
        assert not {"PYTHONPATH", "BCKM_PURE"} & {*around}
    assert around["PATH"] == str(Path("home", "bin"))
    assert around["CXX"].endswith("false")
