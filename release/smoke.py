"""Try an installed bckm: function, estimator and command line, far from the repository.

``python smoke.py FOLDER compiled|pure``: FOLDER is what bckm must have been installed into.
Needs nothing but bckm and what it depends on; any failure ends it with a traceback.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import numpy as np

import bckm
from bckm.kernels import missing, native


def main(folder: str, built: str) -> None:
    """Look at everything once."""
    where = Path(bckm.__file__).resolve()
    assert where.is_relative_to(Path(folder).resolve()), f"bckm is imported from {where}"
    assert version("bckm") == bckm.__version__
    if built == "compiled":
        assert not missing, missing
        assert native.__file__.startswith(str(where.parent)), native.__file__
        hooks = [name for name in vars(native) if re.match("_[^_]", name)]
        assert not hooks, f"functions for tests are in the package: {hooks}"
    else:
        assert native is None
        assert "compiler" in missing, missing
    X = np.concatenate([np.random.default_rng(0).normal(size=(30, 2)) + at for at in (0, 5)])
    function(X)
    estimator(X)
    command_line(X)
    print(f"bckm {bckm.__version__}, {built}: function, estimator and command line work")


def function(X: np.ndarray) -> None:
    """Sizes and links are obeyed, and what cannot be is said."""
    rules = bckm.Constraints(size_min=20, size_max=20, cannot_link=[(0, 1)])
    result = bckm.kmeans(X, 3, rules, random_state=0)
    assert result.sizes.tolist() == [20, 20, 20]
    assert result.labels[0] != result.labels[1]
    assert 0 < result.lower_bound <= result.inertia
    even = bckm.kmeans(X, 2, bckm.Constraints(size_min=30, size_max=30), random_state=0)
    assert set(even.labels[:30]).isdisjoint(even.labels[30:])
    try:
        bckm.kmeans(X, 3, bckm.Constraints(size_max=19))
    except bckm.InfeasibleError as error:
        assert error.conflict
    else:
        raise AssertionError("three clusters of 19 hold 60 samples")


def estimator(X: np.ndarray) -> None:
    """Fit and predict."""
    model = bckm.ConstrainedKMeans(2, size_min=30, size_max=30, random_state=0).fit(X)
    assert np.bincount(model.labels_).tolist() == [30, 30]
    assert model.predict([[0.0, 0.0], [5.0, 5.0]]).tolist() == model.labels_[[0, -1]].tolist()


def command_line(X: np.ndarray) -> None:
    """The version, and a table and a report from a table."""
    assert bckm.__version__ in call("--version")
    Path("data.csv").write_text("x,y\n" + "".join(f"{a:.4f},{b:.4f}\n" for a, b in X))
    call("fit", "data.csv", "-k", "3", "--size", "20", "--out", "out.csv", "--report", "out.html")
    clusters = [line.rsplit(",")[-1] for line in Path("out.csv").read_text().splitlines()[1:]]
    assert [clusters.count(i) for i in "123"] == [20, 20, 20]
    page = Path("out.html").read_text(encoding="utf-8")
    assert "</html>" in page
    assert "<svg" in page


def call(*arguments: str) -> str:
    """What the installed command prints."""
    command = Path(sysconfig.get_path("scripts"), "bckm")
    done = subprocess.run([command, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"bckm {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


if __name__ == "__main__":
    main(*sys.argv[1:])
