"""From a plan and a table to data and `Constraints`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from bckm._core.note import Note, note_of
from bckm._core.terminal import clean
from bckm._core.types import FloatArray
from bckm.constraints import Constraints
from bckm.constraints.links import Link
from bckm.constraints.read_links import label_links
from bckm.constraints.statements import Capacity, Quota, Stay
from bckm.plan._columns import Reader, feature_names, read_features
from bckm.plan._links import read_links_file
from bckm.plan._model import Clause, Plan, PlanError
from bckm.plan._partners import note_of_partners, read_partners
from bckm.plan._previous import read_previous
from bckm.plan._problems import column_problems, has_problem
from bckm.problem.scaling import Scaling
from bckm.tables import (
    NoFileError,
    OptionError,
    Problem,
    ProblemsError,
    Table,
    TableError,
    UnknownColumnError,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class AskedRules:
    """Arguments of `bckm.check`.

    Attributes
    ----------
    n_clusters : int
        Number of clusters.
    constraints : Constraints
        Rules about ids if there is a column of ids, otherwise about positions.
    sample_id : list of str or None
        Ids of the rows.
    notes : tuple of str
        Decisions the user should know about, in sentences.
    """

    n_clusters: int
    constraints: Constraints
    sample_id: list[str] | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Asked(AskedRules):
    """Arguments of `bckm.kmeans`.

    Attributes
    ----------
    X : array (n, d)
        Features, before scaling.
    feature_names : tuple of str
        Columns of the features.
    scaling : Scaling
        Scaling to apply to X.
    sample_weight : array (n,) or None
        Weights in the objective.
    metric : str
        As in `bckm.kmeans`.
    """

    X: FloatArray
    feature_names: tuple[str, ...]
    scaling: Scaling
    sample_weight: FloatArray | None
    metric: str

    @property
    def scaled(self) -> FloatArray:
        """Features after scaling."""
        return self.scaling.apply(self.X)


def compile_rules(plan: Plan, table: Table) -> AskedRules:
    r"""Compile the rules of a plan for a table, without its features.

    Parameters
    ----------
    plan : Plan
        Settings and rules that name columns.
    table : Table
        The data.

    Raises
    ------
    PlanError
        If the plan is incomplete or inconsistent.
    TableError
        If the table lacks what the plan needs; the message names the column and row.

    Examples
    --------
    >>> import io
    >>> from bckm.plan import Plan, clauses_of, compile_rules
    >>> from bckm.tables import read_table
    >>> table = read_table("-", stdin=io.BytesIO(b"name,team\nann,a\nbob,a\njoe,b\neve,b\n"))
    >>> plan = Plan(clusters=2, id="name", clauses=clauses_of({"apart": ["team"]}))
    >>> compile_rules(plan, table).constraints
    Constraints(cannot_link=2, by='sample_id', cluster_names=2)
    """
    read = _reader(plan, table)
    return _compiled(plan, read, column_problems(plan, table, ()))


def compile_plan(plan: Plan, table: Table, *, aside: Sequence[str] = ()) -> Asked:
    r"""Compile a plan for a table: rules, features and weights.

    Parameters
    ----------
    plan : Plan
        Settings and rules that name columns.
    table : Table
        The data.
    aside : sequence of str
        Columns that are not features unless the plan names them, such as old clusters.

    Raises
    ------
    PlanError, TableError
        As `compile_rules`.

    Examples
    --------
    >>> import io
    >>> from bckm.plan import Plan, compile_plan
    >>> from bckm.tables import read_table
    >>> table = read_table("-", stdin=io.BytesIO(b"name,x,kg\nann,0,1\nbob,1,1\njoe,9,5\n"))
    >>> asked = compile_plan(Plan(clusters=2, columns=("x",), scale="standard"), table)
    >>> asked.feature_names, asked.X.ravel().tolist(), asked.scaling.kind
    (('x',), [0.0, 1.0, 9.0], 'standard')
    """
    read = _reader(plan, table)
    names = feature_names(plan, read, aside)
    rules = _compiled(plan, read, column_problems(plan, table, names))
    X = read_features(names, plan, read)  # noqa: N806
    weight = None
    if plan.weight is not None:
        weight = table.numbers(plan.weight)
        if (weight < 0).any():
            row = int(np.argmax(weight < 0))
            text = (
                f"weights must be at least 0; column {plan.weight!r} has {weight[row]:.15g} in "
                f"{table.place(row)}."
            )
            value, line = float(weight[row]), str(table.line(row))
            raise TableError(
                Note(text, "weight_negative", column=plan.weight, value=value, row=line)
            )
        if not weight.any():
            text = f"all weights in column {plan.weight!r} are 0."
            raise TableError(Note(text, "weights_zero", column=plan.weight))
    return Asked(
        X=X,
        feature_names=names,
        scaling=Scaling.of(X, plan.scale or _default_scale(plan, read)),
        n_clusters=rules.n_clusters,
        constraints=rules.constraints,
        sample_id=rules.sample_id,
        sample_weight=weight,
        metric=plan.metric or "euclidean",
        notes=tuple(read.notes),
    )


def _default_scale(plan: Plan, read: Reader) -> str:
    """How to scale if nobody says so; of mixed groups, what else was decided for the person."""
    if plan.fit.get("objective", "compact") == "compact":
        return "none"
    text = (
        "columns were divided by their standard deviation, so that all of them are mixed alike "
        "(--scale none keeps their units)."
    )
    read.notes.append(Note(text, "scaled"))
    if not any(clause.kind == "size" for clause in plan.clauses):
        text = "clusters are as equal in size as the rules admit (use --size to choose)."
        read.notes.append(Note(text, "equal"))
    return "standard"


def _reader(plan: Plan, table: Table) -> Reader:
    names: Sequence[str | int] = plan.cluster_names
    if plan.clusters is None and not names:
        text = "number of clusters missing: use --clusters 12, or clusters = 12 in the rules."
        raise PlanError(Note(text, "how_many"))
    k = plan.clusters or len(names)
    if not names:
        names = range(1, k + 1)
    elif len(names) != k:
        text = f"got {len(names)} names for {k} clusters."
        raise PlanError(Note(text, "names_count", n=len(names), k=k))
    if k > table.n_rows:
        text = f"cannot form {k} clusters from {table.n_rows} rows."
        raise PlanError(Note(text, "too_many", k=k, n=table.n_rows))
    unit = {"latlon": "degrees", "haversine": "radians"}.get(plan.metric or "")
    if unit and (plan.scale or "none") != "none":
        text = f"{plan.metric} needs unscaled {unit}; drop scale {plan.scale!r}."
        raise PlanError(Note(text, "unscaled"))
    for name in (*plan.used, *plan.columns):
        table.column(name)  # an unknown one is refused before anything is read
    # without a usable id, rules are read as far as they go, so that all problems are told at once
    ids = None if plan.id is None else [text or "" for text in table.texts(plan.id)]
    return Reader(table, ids, tuple(names), plan.id)


def _compiled(plan: Plan, read: Reader, problems: Sequence[Problem]) -> AskedRules:
    rules, found = [], list(problems)
    for clause in plan.clauses:
        if clause.kind == "capacity" and has_problem(clause.column, problems):
            continue
        try:
            rules.append(_rules(clause, read))
        except (OptionError, NoFileError, UnknownColumnError):
            raise
        except ProblemsError as error:
            found += error.problems
        except TableError as error:
            found.append(Problem("rule", clause.column, (), _noted(clause, error)))
    if found:
        raise ProblemsError(found, read.table)
    named = Constraints(by=read.by, cluster_names=read.cluster_names)
    try:
        constraints = reduce(and_, rules, named)
    except ValueError as error:  # sizes as numbers and as shares
        raise PlanError(note_of(error)) from None
    return AskedRules(
        n_clusters=read.n_clusters,
        constraints=constraints,
        sample_id=read.ids,
        notes=tuple(read.notes),
    )


def _rules(clause: Clause, read: Reader) -> Constraints:
    try:
        found = _READERS[clause.kind](clause, read)
    except TableError:
        raise
    except ValueError as error:  # what Constraints refuse
        raise PlanError(_about(clause, error)) from None
    if clause.soft and clause.kind != "stay":
        found = found.soft(**clause.soft)
    return found


def _noted(clause: Clause, error: TableError) -> Note:
    said = note_of(error)
    return said if isinstance(said, Note) else _about(clause, error)


def _about(clause: Clause, error: ValueError) -> Note:
    """What is wrong with a rule, as Constraints say it."""
    why = note_of(error)
    text = f"{_called(clause)}: {error}"
    return Note(text, "of_rule", kind=clause.kind, about=clause.column or "", why=why)


def _called(clause: Clause) -> str:
    return clause.kind if clause.column is None else f"{clause.kind} {clause.column!r}"


def _size(clause: Clause, read: Reader) -> Constraints:
    bounds = {
        f"size_{side}": _per_cluster(clause.keys[side], read)
        for side in ("min", "max")
        if side in clause.keys
    }
    if "size_max" in bounds:  # inf is no whole number
        most = max(read.n_rows, int(np.max(bounds.get("size_min", 0))))
        upper = np.atleast_1d(np.array(bounds["size_max"], object))
        each = [most if one > most else one for one in upper.tolist()]
        bounds["size_max"] = each if isinstance(bounds["size_max"], list) else each[0]
    return Constraints(**bounds, by=read.by)


def _per_cluster(bound: Any, read: Reader) -> Any:
    if isinstance(bound, list) and len(bound) != read.n_clusters:
        k = read.n_clusters
        text = f"got {len(bound)} bounds for {k} clusters; give one for all, or one for each."
        raise PlanError(Note(text, "bounds_count", n=len(bound), k=k))
    return bound


def _capacity(clause: Clause, read: Reader) -> Constraints:
    assert clause.column is not None
    values = read.table.numbers(clause.column)
    lower, upper = (_per_cluster(clause.keys.get(side), read) for side in ("min", "max"))
    if lower is not None and np.max(lower) <= 0 <= values.min():
        lower = None  # always so
        if upper is None:
            text = f"capacity {clause.column!r}: lower bound 0 is always met; ignored."
            read.notes.append(Note(text, "always", column=clause.column))
            return Constraints(by=read.by)
    capacity = Capacity(read.named(values.tolist()), lower, upper)
    return Constraints(capacities={clean(clause.column): capacity}, by=read.by)


def _together(clause: Clause, read: Reader) -> Constraints:
    return Constraints(must_link=_sets(clause, read), by=read.by)


def _apart(clause: Clause, read: Reader) -> Constraints:
    return Constraints(cannot_link=_sets(clause, read), by=read.by)


def _sets(clause: Clause, read: Reader) -> list[Link]:
    if "partners" in clause.keys:
        pairs = read_partners(clause.keys["partners"], read)
        if not pairs:
            text = f"{_called(clause)}: no row names another row; ignored."
            read.notes.append(Note(text, "no_partners", column=clause.keys["partners"]))
        return pairs
    if clause.column is None:
        return [Link(read.samples(clause.keys["ids"]))]
    groups = read.groups(clause.column)
    if note := note_of_partners(clause.kind, clause.column, read):
        read.notes.append(note)
    if not groups:
        text = f"{_called(clause)}: no two rows share a value; ignored."
        read.notes.append(Note(text, "no_groups", column=clause.column))
    return [
        Link([read.names[row] for row in rows], f"{clean(clause.column)} {value!r}")
        for value, rows in groups.items()
    ]


def _known(clause: Clause, read: Reader) -> Constraints:
    assert clause.column is not None
    texts = [None if text == "-1" else text for text in read.table.texts(clause.column)]
    together, apart = label_links(texts, every_pair=bool(clause.soft))
    return Constraints(
        must_link=[_renamed(link, read.names) for link in together],
        cannot_link=[_renamed(link, read.names) for link in apart],
        by=read.by,
    )


def _renamed(link: Link, names: Sequence[Any]) -> Link:
    return Link([names[row] for row in link], link.why)


def _quota(clause: Clause, read: Reader) -> Constraints:
    assert clause.column is not None
    bounds = {key: value for key, value in clause.stated.items() if key != "column"}
    values = read.named(read.table.texts(clause.column))
    return Constraints(quotas=Quota(values, **bounds, name=clean(clause.column)), by=read.by)


def _links(clause: Clause, read: Reader) -> Constraints:
    return read_links_file(clause.keys["file"], read)


def _fixed(clause: Clause, read: Reader) -> Constraints:
    if clause.column is None:
        clusters = clause.keys["cluster"]
        if isinstance(clusters, list):
            text = "fixed: give one cluster per row; forbidden accepts several."
            raise PlanError(Note(text, "one_cluster"))
        fixed = [(read.samples([clause.keys["id"]])[0], read.label(clusters))]
    else:
        labels = read.clusters(clause.column)
        fixed = [
            (read.names[row], int(labels[row])) for row in np.flatnonzero(labels >= 0).tolist()
        ]
    return Constraints(fixed=fixed, by=read.by)


def _forbidden(clause: Clause, read: Reader) -> Constraints:
    clusters = clause.keys["cluster"]
    sample = read.samples([clause.keys["id"]])[0]
    each = clusters if isinstance(clusters, list) else [clusters]
    return Constraints(forbidden=[(sample, read.label(one)) for one in each], by=read.by)


def _stay(clause: Clause, read: Reader) -> Constraints:
    found = read_previous(clause, read) if clause.column is None else read.clusters(clause.column)
    before = read.named(found.tolist())
    stay = Stay(before, at_most=clause.keys.get("at_most"), **clause.soft)
    return Constraints(stay=stay, by=read.by)


_READERS: dict[str, Callable[[Clause, Reader], Constraints]] = {
    "size": _size,
    "capacity": _capacity,
    "together": _together,
    "apart": _apart,
    "known": _known,
    "quota": _quota,
    "links": _links,
    "fixed": _fixed,
    "forbidden": _forbidden,
    "stay": _stay,
}
