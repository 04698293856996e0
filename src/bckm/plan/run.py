"""From a plan and a table to a study: what ``bckm fit`` and the page in the browser share."""

from __future__ import annotations

import platform
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bckm.fit.kmeans import kmeans
from bckm.fit.parameters import PARAMETERS
from bckm.plan._compile import Asked, compile_plan
from bckm.plan._model import FIT, Plan
from bckm.plan._toml import plan_text
from bckm.study import Study
from bckm.tables import Reading, Table


@dataclass(frozen=True, eq=False)
class Run:
    """A plan, the table it is about, and what it asks there.

    Attributes
    ----------
    plan : Plan
        Settings and rules that name columns.
    table : Table
        The data.
    asked : Asked
        Arguments of `bckm.kmeans`.

    Examples
    --------
    >>> from bckm.plan import Plan
    >>> from bckm.plan.run import compiled, fitted
    >>> from bckm.tables import Table
    >>> run = compiled(Plan(clusters=2), Table.of({"x": [0, 1, 8, 9]}, source="places.csv"))
    >>> fitted(run)
    Study('Clusters of places.csv', 4 samples, 2 clusters)
    """

    plan: Plan
    table: Table
    asked: Asked

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the fit: those of the plan, and defaults that a report shows."""
        defaults = {name: PARAMETERS[name].default for name in ("solver", "search")}
        return {"seed": 0, **defaults, **self.plan.fit}


def compiled(plan: Plan, table: Table, *, aside: Sequence[str] = ()) -> Run:
    """Compile a plan for a table; arguments and errors as in `compile_plan`."""
    return Run(plan, table, compile_plan(plan, table, aside=aside))


def fitted(
    run: Run, *, title: str | None = None, command: str | None = None, **options: Any
) -> Study:
    """Cluster the table of a run as its plan asks.

    Parameters
    ----------
    run : Run
        From `compiled`.
    title : str, optional
        Title of the report; by default it names the table.
    command : str, optional
        Command line that repeats the fit.
    **options
        Options of `bckm.kmeans` that are no part of a plan: on_step, on_best, on_phase, checkpoint,
        n_jobs.

    Returns
    -------
    Study
        Its settings hold the source, the date, the settings of the fit, notes, versions, and the
        plan as the text of a rules file.

    Raises
    ------
    InfeasibleError, UndecidedError, NothingToLearn
        As `bckm.kmeans`.
    """
    asked, settings = run.asked, run.settings
    result = kmeans(
        asked.scaled,
        asked.n_clusters,
        asked.constraints,
        metric=asked.metric,
        sample_weight=asked.sample_weight,
        sample_id=asked.sample_id,
        random_state=settings["seed"],
        **{name: settings[name] for name in FIT if name != "seed" and name in settings},
        **options,
    )
    return Study.of(
        result,
        asked.X,
        asked.constraints,
        feature_names=asked.feature_names,
        sample_id=asked.sample_id,
        sample_weight=asked.sample_weight,
        scaling=asked.scaling,
        title=f"Clusters of {run.table.source}" if title is None else title,
        settings={
            "source": run.table.source,
            "command": command,
            "date": time.strftime("%Y-%m-%d"),
            **settings,
            "notes": list(asked.notes),
            "rules": plan_text(run.plan),
            "versions": _versions(),
        },
    )


def command_of(
    data: str, *, rules: str = "rules.toml", reading: Reading | None = None, **outputs: str
) -> str:
    """Return the command line that repeats a fit, with its plan in a rules file.

    Parameters
    ----------
    data : str
        File of the table.
    rules : str
        Rules file, as `write_plan` writes it.
    reading : Reading, optional
        How the table was read.
    **outputs
        Files to write, by option: out, report, save, lists.

    Examples
    --------
    >>> from bckm.plan.run import command_of
    >>> command_of("my stops.xlsx", out="vans.xlsx")
    "bckm fit 'my stops.xlsx' --rules rules.toml --out vans.xlsx"
    """
    asked = [] if reading is None else _options(reading)
    asked += [each for name, path in outputs.items() for each in (f"--{name}", path)]
    return shlex.join(["bckm", "fit", data, "--rules", rules, *asked])


def _options(reading: Reading) -> list[str]:
    """Options of the command line that ask for a reading."""
    found = []
    for name, value in reading.dict().items():
        if name == "fills":
            for column, how in value.items():
                found += ["--fill", f"{column}:{how}"]
        elif name == "drop_rows":
            found += ["--drop-rows", ",".join(map(str, value))] if value else []
        elif value is not None:
            found += [f"--{name.replace('_', '-')}", str(value)]
    return found


def _versions() -> dict[str, str]:
    import numpy
    import scipy

    import bckm

    return {
        "bckm": bckm.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
    }
