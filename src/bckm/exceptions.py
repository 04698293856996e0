"""Exceptions, with their evidence; `BckmError` catches them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bckm.constraints.rules import Rule


class BckmError(Exception):
    """Base class of all exceptions of this library.

    Arguments of a wrong type or value raise TypeError and ValueError, as everywhere in Python.

    Examples
    --------
    >>> import bckm
    >>> try:
    ...     bckm.kmeans([[0.0], [1.0], [2.0]], 2, bckm.Constraints(size_max=1))
    ... except bckm.BckmError as error:
    ...     print(type(error).__name__)
    InfeasibleError
    """


class InfeasibleError(BckmError, ValueError):
    """No labels obey the rules, and this is proven.

    Parameters
    ----------
    message : str
        The conflict in words, with its numbers and a remedy.
    conflict : tuple of Rule
        The rules that contradict each other.
    minimal : bool
        True if every proper subset of `conflict` can be met; False only if
        there was no time to shrink it further.

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


class UndecidedError(BckmError, RuntimeError):
    """Neither labels that obey the rules nor a proof that none exist was found in time.

    Examples
    --------
    >>> import bckm
    >>> issubclass(bckm.UndecidedError, RuntimeError)
    True
    """


class DroppedRulesWarning(UserWarning):
    """Rules about samples that are not in the data were dropped.

    This is expected in the splits of a cross-validation; elsewhere, check the ids.

    Examples
    --------
    >>> import bckm, warnings
    >>> model = bckm.ConstrainedKMeans(2, random_state=0)
    >>> X, names = [[0.0], [1.0], [9.0]], ["ann", "bob", "joe"]
    >>> pairs = [("ann", "bob"), ("bob", "eve")]
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     model = model.fit(X, must_link=pairs, sample_id=names)
    >>> model.n_dropped_, caught[0].category.__name__
    (1, 'DroppedRulesWarning')
    """


class UnsupportedError(BckmError, ValueError):
    """The chosen solver does not support these rules; the message names an alternative.

    Examples
    --------
    >>> import bckm
    >>> try:
    ...     bckm.kmeans([[0.0], [1.0], [2.0]], 2, bckm.Constraints(size_max=2), solver="nearest")
    ... except bckm.UnsupportedError as error:
    ...     print(error)
    solver 'nearest' does not support size bounds; use solver='auto'.
    """


class FileInUseError(BckmError, OSError):
    """Another fit is using the same checkpoint; the message says which process.

    Examples
    --------
    >>> import bckm
    >>> issubclass(bckm.FileInUseError, OSError)
    True
    """


class DamagedFileError(BckmError, ValueError):
    """A file was not written by `bckm` or is damaged; the message says what is wrong.

    Examples
    --------
    >>> import bckm, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "empty.bckm")
    ...     path.touch()
    ...     try:
    ...         bckm.load(path)
    ...     except bckm.DamagedFileError as error:
    ...         print(str(error).replace(folder, "here"))
    here/empty.bckm is empty: nothing was written to it, or it was truncated; write it again.
    """
