"""What the repository promises a newcomer."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import bckm
from tests.support.waiting import SECONDS

ROOT = Path(__file__).parents[2]


def test_import_needs_neither_solver_nor_scikit_learn():
    code = (
        "import bckm, sys; "
        "slow = 'highspy sklearn pandas matplotlib scipy.optimize scipy.spatial'; "
        "print([m for m in slow.split() if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert done.stdout.strip() == "[]"


def test_every_public_name_has_a_docstring_with_an_example():
    for name in bckm.__all__:
        found = getattr(bckm, name)
        assert isinstance(found, ModuleType) or ">>> " in (found.__doc__ or ""), name


def test_dir_shows_public_names_alone():
    assert dir(bckm) == sorted(bckm.__all__)
    assert not [name for name in dir(bckm) if name.startswith("_")]


def test_ci_calls_the_test_command_of_the_readme():
    assert "\nmake test test-full\n" in (ROOT / ".ci" / "run").read_text()
    assert "make test" in (ROOT / "README.md").read_text()
    assert "make demo" in (ROOT / "README.md").read_text()


def test_readme_python_runs(capsys):
    """The Python of the README, as it stands there."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert blocks
    scope: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), scope)
    assert "cannot-link" in capsys.readouterr().out


def test_modules_are_small_and_silent():
    modules = {path: path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}
    assert [path for path, text in modules.items() if text.count("\n") > 420] == []
    assert [path for path, text in modules.items() if re.search(r"^\s*print\(", text, re.M)] == []
    assert len(modules) > 100
