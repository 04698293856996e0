"""What can go wrong with a set of rules, as exceptions that carry their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bckm.rules import Rule


class InfeasibleError(ValueError):
    """No labels obey the rules, and this is proven.

    Parameters
    ----------
    message : str
        The conflict in words, with its numbers and a remedy.
    conflict : tuple of Rule
        Rules of the person that cannot hold together.
    minimal : bool
        True when every proper subset of `conflict` can be obeyed; False only when
        shrinking it further was not finished in time.

    Examples
    --------
    >>> import bckm
    >>> rules = bckm.Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    >>> try:
    ...     bckm.kmeans([[0.0], [1.0], [2.0], [3.0]], 2, rules)
    ... except bckm.InfeasibleError as error:
    ...     print(len(error.conflict), error.minimal)
    3 True
    """

    def __init__(self, message: str, conflict: tuple[Rule, ...] = (), minimal: bool = True) -> None:
        super().__init__(message)
        self.conflict = conflict
        self.minimal = minimal


class UndecidedError(RuntimeError):
    """Neither labels that obey the rules nor a proof that none exist were found in time.

    Examples
    --------
    >>> import bckm
    >>> issubclass(bckm.UndecidedError, RuntimeError)
    True
    """


class UnsupportedError(ValueError):
    """The chosen solver cannot express what is asked; the message names the way out.

    Examples
    --------
    >>> import bckm
    >>> try:
    ...     bckm.kmeans([[0.0], [1.0], [2.0]], 2, bckm.Constraints(size_max=2), solver="nearest")
    ... except bckm.UnsupportedError as error:
    ...     print(error)
    solver 'nearest' cannot express size bounds; use solver='auto'.
    """
