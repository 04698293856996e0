"""Results, models and studies as files, without pickle, written completely or not at all.

The format is that of `bckm._storage.container`: a zip of a JSON header and plain arrays. Loading
runs no code from the file. Files of older versions stay readable, see ``tests/archive``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from bckm._core.terminal import clean
from bckm._storage.container import Container, read_container, write_container
from bckm._storage.fields import Fields
from bckm.archive import _format1, _format2
from bckm.archive._result import read_result, result_tree
from bckm.archive._study import read_study, study_tree
from bckm.constraints.tree import Pool
from bckm.exceptions import DamagedFileError
from bckm.fit.result import Result
from bckm.study import Study

if TYPE_CHECKING:
    from bckm.estimator import ConstrainedKMeans

KINDS = ("result", "model", "study")


def save(thing: Result | ConstrainedKMeans | Study, path: str | os.PathLike[str]) -> None:
    """Write a result, a model or a study to one file.

    An existing file is replaced atomically: whatever happens, either the old file or the new one
    remains. The same object always gives the same bytes.

    Parameters
    ----------
    thing : Result, ConstrainedKMeans or Study
        The object to save. Results and studies are saved completely, models with all parameters
        and what they learned, except that a `random_state` that is a generator is saved as None,
        and metadata requests of scikit-learn are not saved.
    path : str or path
        The file; any name is allowed, ``.bckm`` is customary.

    Raises
    ------
    TypeError
        If it contains ids, categories, settings or parameters other than text, numbers, booleans,
        None, and arrays, lists and mappings of them.

    See Also
    --------
    bckm.load : Read it back.

    Examples
    --------
    >>> import bckm, pathlib, tempfile
    >>> result = bckm.kmeans([[0.0], [1.0], [8.0], [9.0]], 2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "result.bckm")
    ...     bckm.save(result, path)
    ...     again = bckm.load(path)
    >>> again.labels.tolist() == result.labels.tolist(), again.inertia
    (True, 1.0)
    """
    pool = Pool()
    if isinstance(thing, Result):
        kind, tree = "result", result_tree(thing, pool)
    elif isinstance(thing, Study):
        kind, tree = "study", study_tree(thing, pool)
    else:
        from bckm.archive._model import model_tree  # needs scikit-learn, which is slow to import
        from bckm.estimator import ConstrainedKMeans

        if type(thing) is not ConstrainedKMeans:
            raise TypeError(
                "save expects a Result, a ConstrainedKMeans or a Study; got a "
                f"{type(thing).__name__}."
            )
        kind, tree = "model", model_tree(thing, pool)
    write_container(path, kind, {"statements": pool.trees(), kind: tree})


def load(path: str | os.PathLike[str]) -> Any:
    """Load a file written by `save`.

    Runs no code from the file. Files that are damaged, truncated, edited by hand or not written by
    `bckm` are rejected, and so are studies whose labels violate their rules.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Result, ConstrainedKMeans or Study
        The saved object.

    Raises
    ------
    DamagedFileError
        If the file was not written by `save`, is damaged, or is from a newer version.

    Examples
    --------
    >>> import bckm, pathlib, tempfile
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.bckm")
    ...     bckm.save(bckm.ConstrainedKMeans(2, size_max=2, random_state=0).fit(X), path)
    ...     model = bckm.load(path)
    >>> model.predict(X).tolist() == model.labels_.tolist()
    True
    """
    container = read_container(path, KINDS)
    try:
        return _read(container)
    except ValueError as error:
        raise _inconsistent(path, error) from None
    except (TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise _inconsistent(path, f"{type(error).__name__}: {error}") from error


def _inconsistent(path: str | os.PathLike[str], why: object) -> DamagedFileError:
    return DamagedFileError(
        f"{clean(os.fspath(path))} is damaged or was edited by hand: "
        f"{clean(str(why)).rstrip('.')}. Write it again with bckm.save."
    )


def _read(container: Container) -> Result | ConstrainedKMeans | Study:
    content = container.content
    for number, older in enumerate((_format1, _format2), 1):
        if container.version <= number:
            content = older.upgraded(content)
    fields = Fields(content, "the content")
    pool = Pool.read(fields.all("statements"))
    if container.kind == "result":
        return read_result(fields.of("result"), pool)
    if container.kind == "study":
        return read_study(fields.of("study"), pool)
    from bckm.archive._model import read_model

    return read_model(fields.of("model"), pool)
