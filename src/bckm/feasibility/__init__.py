"""Can the rules be met? Decided once per fit, before any clustering.

Feasibility does not depend on the centers. Cheap proofs come first, then greedy construction, a
complete search of limited size, a dual proof by LP, repair, and an integer program. A solver's
"infeasible" alone is never passed on: a proof or the complete search must confirm it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from bckm._core.deadline import Deadline, TimeUp
from bckm._core.on_device import device_of
from bckm._core.types import IntArray
from bckm._core.validation import read_data, read_n_clusters, read_time_limit, read_whole
from bckm.constraints import Constraints, as_constraints
from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import Rule
from bckm.constraints.sample_id import located
from bckm.exceptions import InfeasibleError, UndecidedError
from bckm.feasibility._bound_proofs import sizes_crossed, sizes_sum
from bckm.feasibility._conflict import Shrinker, conflict_message
from bckm.feasibility._decide import Verdict, decide, decide_rules
from bckm.problem.structure import Structure, contract, size_bounds

__all__ = ["Feasibility", "Verdict", "check", "feasible_start", "require_sizes"]


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Answer of `check`; true if the rules can be met.

    Attributes
    ----------
    verdict : str
        "feasible", "infeasible" or "unknown".
    labels : array (n,) or None
        Labels that obey every rule, if feasible; not optimized.
    error : InfeasibleError, UndecidedError or None
        The exception that a fit would raise.

    Examples
    --------
    >>> import bckm
    >>> answer = bckm.check(4, 2, bckm.Constraints(size_max=2))
    >>> bool(answer), answer.labels.tolist()
    (True, [0, 0, 1, 1])
    """

    verdict: Verdict
    labels: IntArray | None
    error: InfeasibleError | UndecidedError | None

    def __bool__(self) -> bool:
        return self.verdict is Verdict.FEASIBLE

    def __repr__(self) -> str:
        return f"Feasibility({self.verdict})"

    @property
    def conflict(self) -> tuple[Rule, ...]:
        """The rules that contradict each other; empty unless infeasible."""
        return self.error.conflict if isinstance(self.error, InfeasibleError) else ()

    @property
    def message(self) -> str:
        """The answer as a sentence."""
        return "the rules can be met." if self.error is None else str(self.error)


_UNCONFIRMED = (
    "undecided: the solver's answer could not be confirmed (the solver alone is not trusted, and "
    "the complete search reached its work limit); relax the rules."
)
_TIRED = (
    "undecided: within a limit of work neither labels that obey the rules nor a proof that none "
    "exist was found; give a time_limit, which is then used, or relax the rules."
)
_UNDECIDED = (
    "undecided within the time limit: neither labels that obey the rules nor a proof that none "
    "exist was found; raise time_limit or relax the rules."
)


def check(
    X: Any,  # noqa: N803
    n_clusters: int,
    constraints: Constraints | None = None,
    *,
    sample_id: Any = None,
    time_limit: float | None = None,
) -> Feasibility:
    """Check whether rules can be met and, if not, which of them contradict each other.

    Parameters
    ----------
    X : array or sparse array of shape (n_samples, n_features), or int
        The data, or just the number of samples: the values do not matter.
    n_clusters : int
        Number of clusters.
    constraints : Constraints, optional
        The rules.
    sample_id : sequence of length n_samples, optional
        Id of each sample, for rules with ``by="sample_id"``; by default the index of a pandas
        frame. Ignored by rules about positions.
    time_limit : float, optional
        Time limit in seconds. Even without one the answer can be "unknown": where nothing is found
        within a limit of work, or where a solver finds the rules infeasible but the complete search
        to confirm it reaches its limit.

    Returns
    -------
    Feasibility
        Feasible with labels, infeasible with a minimal conflict, or unknown.

    Examples
    --------
    >>> import bckm
    >>> rules = bckm.Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], size_max=9)
    >>> answer = bckm.check(20, 3, rules)
    >>> answer.verdict.value
    'infeasible'
    >>> for rule in answer.conflict:
    ...     print(rule)
    must-link: samples 0 and 1 together
    must-link: samples 1 and 2 together
    cannot-link: samples 0 and 2 apart
    """
    deadline = Deadline.after(read_time_limit(time_limit))
    if device_of(X) is not None:
        X = int(X.shape[0])  # noqa: N806
    counted = isinstance(X, int | np.integer)
    n = read_whole(X, "the number of samples") if counted else read_data(X).shape[0]
    k = read_n_clusters(n_clusters, n)
    rules = located(as_constraints(constraints), X, sample_id, n).rules(n, k)
    structure = Structure.compile(rules, contract(rules, n), k)
    try:
        labels = feasible_start(structure, rules, deadline)
    except InfeasibleError as error:
        return Feasibility(Verdict.INFEASIBLE, None, error)
    except UndecidedError as error:
        return Feasibility(Verdict.UNKNOWN, None, error)
    return Feasibility(Verdict.FEASIBLE, structure.expand(labels), None)


def feasible_start(structure: Structure, rules: Rules, deadline: Deadline) -> IntArray:
    """Labels of items that obey the rules.

    Raises
    ------
    InfeasibleError
        With a minimal conflict, when it is proven that there are none.
    UndecidedError
        When neither was found before the deadline.
    """
    decision = decide(structure, rules, deadline)
    if decision.labels is not None:
        return decision.labels
    if decision.verdict is Verdict.UNKNOWN:
        raise UndecidedError(_UNDECIDED if deadline.passed else _TIRED)
    proof = decision.proof
    conflict: Sequence[Rule] = rules
    minimal = False
    if proof is not None:
        conflict, minimal = proof.rules, proof.minimal
    if not minimal:
        n, k = structure.item.size, structure.n_clusters
        shrinker = Shrinker(n, k, deadline)
        with suppress(TimeUp):  # then the larger conflict is what is proven, if it is
            minimal = proof is not None and shrinker.none_spared(proof)
            if not minimal:
                smaller = shrinker.shrink(conflict)
                confirmed = decide_rules(smaller, n, k, deadline, confirm=True).proof
                if confirmed is not None:
                    proof, conflict, minimal = confirmed, smaller, shrinker.sure
    if proof is None:
        raise UndecidedError(_UNDECIDED if deadline.passed else _UNCONFIRMED)
    told = tuple(conflict)
    raise InfeasibleError(conflict_message(told, proof, minimal), told, minimal)


def require_sizes(rules: Rules, n_samples: int, n_clusters: int) -> tuple[IntArray, IntArray]:
    """Least and most samples of each cluster, where rules bound nothing but sizes.

    Unlike `feasible_start` it needs no array of the number of samples.

    Raises
    ------
    InfeasibleError
        As `feasible_start` would.

    Examples
    --------
    >>> import bckm
    >>> from bckm.feasibility import require_sizes
    >>> low, up = require_sizes(bckm.Constraints(size_max=6).rules(10, 2), 10, 2)
    >>> low.tolist(), up.tolist()
    ([1, 1], [6, 6])
    """
    lower, upper = size_bounds(rules.others, n_samples, n_clusters)
    proof = sizes_sum(rules, lower, upper, n_samples) or sizes_crossed(rules, lower, upper)
    if proof is not None:
        told = tuple(proof.rules)
        raise InfeasibleError(conflict_message(told, proof, proof.minimal), told, proof.minimal)
    return lower, upper
