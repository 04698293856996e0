"""``bckm fit`` of a Parquet file or folder that is larger than memory: rows are read in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bckm._core.terminal import clean, say
from bckm.cli._errors import INFEASIBLE, STOPPED, USAGE, Failure
from bckm.cli._outputs import Outputs, write_json
from bckm.cli._progress import Progress, progress_to
from bckm.cli.check import tell

if TYPE_CHECKING:
    from bckm.blocks.parquet import ParquetRows
    from bckm.fit.result import Result
    from bckm.plan import Plan

WRITTEN = 2**18  # rows that are written at a time
_SHOWN = 5  # column names in a note
_NEEDS = {  # what needs all rows in memory
    "report": "--report",
    "lists": "--lists",
    "mark": "--mark",
    "save": "--save",
    "title": "--title",
}


def streams(data: str, plan: Plan, given: dict[str, Any]) -> bool:
    """Whether DATA is to be read in blocks: asked for, a folder, or too large to be copied."""
    path = Path(data)
    if given["stream"] or (data != "-" and path.is_dir()):
        return True
    if _format(data) != "parquet" or not path.is_file() or _beyond(plan, given):
        return False
    from bckm.blocks.sources import LARGE

    return _cells(path) > LARGE


def _format(data: str) -> str | None:
    from bckm.blocks.parquet import SUFFIXES

    return "parquet" if Path(data).suffix.lower() in SUFFIXES else None


def _cells(path: Path) -> int:
    """Numbers in a file, as far as it says; a damaged one is told of when it is read."""
    from bckm.blocks.parquet import ParquetRows, numeric_columns
    from bckm.tables import TableError

    try:
        rows = ParquetRows(path, numeric_columns(path)[0])
    except TableError:
        return 0
    return rows.shape[0] * rows.shape[1]


def _beyond(plan: Plan, given: dict[str, Any]) -> str | None:
    """What is asked that needs all rows in memory, as the person wrote it."""
    for clause in plan.clauses:
        if clause.kind != "size" or clause.soft:
            return f"{'a soft rule about ' if clause.soft else 'the rule '}{clause.kind!r}"
    for name, default in (("scale", "none"), ("metric", "euclidean"), ("missing", "error")):
        if getattr(plan, name) not in (None, default):
            return f"--{name} {getattr(plan, name)}"
    if plan.weight is not None:
        return "--weight"
    return next((option for name, option in _NEEDS.items() if given[name]), None)


def stream(ctx: click.Context, data: str, plan: Plan, given: dict[str, Any]) -> None:
    """Read DATA in blocks, again and again, and write the clusters block by block."""
    if (beyond := _beyond(plan, given)) is not None:
        raise Failure(
            f"{beyond} needs all rows in memory, but {clean(data)} is read in blocks, under no "
            "rules but --size; leave it out, or use a part of the data.",
            USAGE,
        )
    if not Path(data).is_dir() and "parquet" not in (given["format_"], _format(data)):
        raise Failure(f"--stream reads Parquet files and folders; {clean(data)} is none.", USAGE)
    _check_out(data, given)
    progress = progress_to(given["quiet"], plan.fit.get("time_limit"))
    try:
        progress.phase(f"reading {data}")
        rows, notes = _rows(data, plan, given, progress)
        if given["checkpoint"] and Path(given["checkpoint"]).exists():
            progress.phase(f"resuming from {given['checkpoint']}")
        asked = _rules(plan, rows)
        result = _kmeans(ctx, rows, asked, plan, given, progress)
        outputs = _written(rows, result, asked, plan, given)
    finally:
        progress.close()
    if not given["quiet"]:
        _say(result, rows, notes, outputs, given)
    outputs.finish()
    if result.status.stopped or outputs.left:
        ctx.exit(STOPPED)
    if given["checkpoint"]:
        Path(given["checkpoint"]).unlink(missing_ok=True)


def stream_path(data: str) -> str:
    """Where the clusters go unless that is said."""
    return f"{Path(data).resolve().name.partition('.')[0]}-clusters.parquet"


def _check_out(data: str, given: dict[str, Any]) -> None:
    out = Path(given["out"])
    if out.suffix.lower() not in (".parquet", ".pq"):
        raise Failure(
            f"--out {clean(given['out'])}: clusters of data that are read in blocks are written "
            "as Parquet; name a file that ends in .parquet.",
            USAGE,
        )
    folder = Path(data)
    if folder.is_dir() and out.resolve().is_relative_to(folder.resolve()):
        raise Failure(
            f"--out {clean(given['out'])} would become a part of the data; write it elsewhere.",
            USAGE,
        )


def _rows(
    data: str, plan: Plan, given: dict[str, Any], progress: Progress
) -> tuple[ParquetRows, list[str]]:
    """The features of all rows, and what was decided on the way."""
    from bckm.blocks.parquet import ParquetRows, numeric_columns
    from bckm.tables import UnknownColumnError
    from bckm.tables.errors import some

    class Watched(ParquetRows):
        """Rows that tell how far a pass has come."""

        n_passes = 0

        def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, Any]]:
            self.n_passes += 1
            for at, block in super().blocks(start, stop):
                progress.part(f"pass {self.n_passes}, {at / self.shape[0]:.0%} read")
                yield at, block

    numeric, names = numeric_columns(data)
    if plan.id is not None and plan.id not in names:
        raise UnknownColumnError(plan.id, names, clean(data))
    notes = []
    columns = list(plan.columns)
    if not columns:
        columns = [name for name in numeric if name not in (plan.id, given["label_column"])]
        if not columns:
            raise Failure(
                f"{clean(data)} has no numeric column to cluster by; its columns are: "
                f"{some(names)}.",
                USAGE,
            )
        notes.append(
            f"clustered by {some(columns, _SHOWN)}: every numeric column "
            "(use --columns to choose others)."
        )
    return Watched(data, columns), notes


def _rules(plan: Plan, rows: ParquetRows) -> Any:
    """What the plan asks: number of clusters, sizes, names."""
    from bckm.plan import compile_rules
    from bckm.tables import Table

    counted = Table((), rows.shape[0], "parquet", rows.source, {})
    return compile_rules(replace(plan, id=None, columns=()), counted)


def _kmeans(
    ctx: click.Context,
    rows: ParquetRows,
    asked: Any,
    plan: Plan,
    given: dict[str, Any],
    progress: Progress,
) -> Result:
    from bckm.exceptions import InfeasibleError
    from bckm.feasibility import Feasibility, Verdict
    from bckm.fit.kmeans import kmeans
    from bckm.plan import FIT

    settings = {name: plan.fit[name] for name in FIT if name != "seed" and name in plan.fit}
    try:
        return kmeans(
            rows,
            asked.n_clusters,
            asked.constraints,
            random_state=plan.fit.get("seed", 0),
            n_jobs=given["jobs"],
            on_step=progress.step,
            on_phase=progress.begins,
            checkpoint=given["checkpoint"],
            **settings,
        )
    except InfeasibleError as error:
        progress.close()
        tell(Feasibility(Verdict.INFEASIBLE, None, error), given["as_json"])
        ctx.exit(INFEASIBLE)


def _written(
    rows: ParquetRows, result: Result, asked: Any, plan: Plan, given: dict[str, Any]
) -> Outputs:
    from bckm.plan import write_plan

    names, column = list(asked.constraints.cluster_names), given["label_column"]
    outputs = Outputs()
    outputs.write("labels", given["out"], _labels_writer(rows, result, names, column, plan.id))
    outputs.write("centers", given["centers"], _centers_writer(rows, result, names, column))
    for path in (given["summary"], "-" if given["as_json"] else None):
        outputs.write("summary", path, lambda one: write_json(_summary(rows, result), one))
    outputs.write("rules", given["write_rules"], lambda path: write_plan(plan, path))
    return outputs


def _labels_writer(
    rows: ParquetRows, result: Result, names: list[Any], column: str, id_: str | None
) -> Callable[[str], None]:
    """The clusters, with the ids where there are any, some rows at a time."""

    def write(path: str) -> None:
        import pyarrow as arrow
        from pyarrow import parquet

        from bckm._storage.atomic import atomic

        called = arrow.array(names)
        made: Any = result.labels  # block by block, as rows of a file have them
        ids = repeat(None) if id_ is None else rows.batches([id_], rows.block_rows)
        writer: Any = None
        held: list[Any] = []
        with atomic(path, "wb") as handle:
            for (at, labels), batch in zip(made.blocks(), ids, strict=id_ is not None):
                columns = {column: called.take(arrow.array(labels))}
                if batch is not None and id_ is not None:
                    columns = {id_: batch[1].column(0), **columns}
                held.append(arrow.table(columns))
                end = at + len(labels)
                if sum(part.num_rows for part in held) >= WRITTEN or end == rows.shape[0]:
                    part, held = arrow.concat_tables(held), []
                    writer = writer or parquet.ParquetWriter(handle, part.schema)
                    writer.write_table(part)
            writer.close()

    return write


def _centers_writer(
    rows: ParquetRows, result: Result, names: list[Any], column: str
) -> Callable[[str], None]:
    """A row per cluster: its name, its size, its center."""

    def write(path: str) -> None:
        from bckm.tables import Table, write_table

        columns: dict[str, Any] = {column: names, "size": result.sizes.tolist()}
        for name, values in zip(rows.names, result.centers.T.tolist(), strict=True):
            columns[name if name not in columns else f"{name} (center)"] = values
        write_table(Table.of(columns, format="parquet"), path)

    return write


def _summary(rows: ParquetRows, result: Result) -> dict[str, Any]:
    """Key figures, called as those of a report."""
    return {
        "n_samples": rows.shape[0],
        "n_clusters": result.sizes.size,
        "features": list(rows.names),
        "inertia": result.inertia,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "status": result.status.value,
        "assignment_status": result.assignment_status.value,
        "sizes": result.sizes.tolist(),
        "seconds": result.seconds,
        "iterations": result.n_iter,
        "passes": result.counters["passes"],
        "solver": result.solver,
    }


def _say(
    result: Result, rows: ParquetRows, notes: list[str], outputs: Outputs, given: dict[str, Any]
) -> None:
    least, most = int(result.sizes.min()), int(result.sizes.max())
    of = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    proven = "proven optimal for its centers" if result.gap < 1e-9 else f"gap {result.gap:.2g}"
    lines = [
        f"{rows.shape[0]:,} rows of {rows.source} in {result.sizes.size:,} clusters of {of}.",
        f"Inertia {result.inertia:.6g}, {proven}; {result.status.message}.",
        f"{result.n_iter} iterations, {result.counters['passes']} passes over the data, "
        f"{result.seconds:.1f} s. Data in blocks have no report.",
        "",
        *(f"Note: {note}" for note in notes),
        *(f"Written: {one}" for one in outputs.told),
    ]
    # words would spoil what goes to standard output
    say("\n".join(lines), err=given["as_json"] or "-" in (given["centers"], given["summary"]))
    for one in outputs.left:
        say(f"Not written, because you pressed Ctrl-C: {one}", err=True)
