"""Reports of a `Study`: an HTML page, Markdown, a few lines of text, JSON.

Every format presents the same facts (`_facts`). Text from data becomes HTML in one place
(`bckm._core.html`), Markdown in one place (`_markdown.safe`), and lines of a terminal in one place
(`bckm._core.terminal.clean`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bckm.study import Study

if TYPE_CHECKING:
    from bckm.report._compare import Comparison

__all__ = ["compare", "html", "markdown", "summary", "text", "write"]


def html(study: Study) -> str:
    """Return a report as a self-contained HTML page without scripts.

    Returns
    -------
    str
        The document; the same study always gives the same page.

    Examples
    --------
    >>> import bckm
    >>> from bckm import report
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X, title="<Four>")
    >>> page = report.html(study)
    >>> "<script" in page, "&lt;Four&gt;" in page
    (False, True)
    """
    from bckm.report._facts import Facts
    from bckm.report._page import page

    return page(Facts.of(study))


def markdown(study: Study) -> str:
    """Return a report as Markdown, with tables but no figures.

    Examples
    --------
    >>> import bckm
    >>> from bckm import report
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X, title="Four")
    >>> print(report.markdown(study).splitlines()[2])
    **4 samples in 2 clusters of 2.**
    """
    from bckm.report._facts import Facts
    from bckm.report._markdown import markdown_of

    return markdown_of(Facts.of(study))


def text(study: Study, *, width: int = 80, blocks: bool = True) -> str:
    r"""Return a report as 20 to 40 lines for a terminal.

    Parameters
    ----------
    study : Study
        What to report.
    width : int
        Width of the terminal in characters.
    blocks : bool
        Whether to draw bars with block characters; otherwise the output is ASCII.

    Examples
    --------
    >>> import bckm
    >>> from bckm import report
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> rules = bckm.Constraints(size_max=3)
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules, title="Four")
    >>> print(*report.text(study, blocks=False).splitlines()[-5:], sep="\n")
    cluster  size
          0  2 ###########..... at most 3
          1  2 ###########..... at most 3
    <BLANKLINE>
    ok 2 of 2 bounds on sizes
    """
    from bckm.report._facts import Facts
    from bckm.report._text import text_of

    return text_of(Facts.of(study), width, blocks)


def summary(study: Study) -> dict[str, Any]:
    """Return a report as a dict for JSON, with null instead of NaN and infinity.

    Returns
    -------
    dict
        ``title``, ``headline``; ``n_samples``, ``n_clusters``, ``features`` (names), ``metric``,
        ``learned_metric`` (null unless one was to be learned: ``learned``, false if the plain one
        was kept, ``message``, numbers of links, scores, and ``feature_shares``, ``plain`` and
        ``learned``: how much each of ``features`` counts), ``scaling``; ``inertia``, ``penalty``,
        ``objective``, ``lower_bound``, ``gap`` (of the last assignment, null if unknown),
        ``status``, ``assignment_status``; ``sizes``;
        ``amounts`` (each ``name``, ``kind``, ``values``, ``lower``, ``upper``, ``soft``; null where
        a cluster has no bound); ``rules`` (each ``kind``, ``soft``, ``asked``, ``kept``);
        ``broken`` (violated hard rules, in words); ``violated`` (violated soft rules, each with
        ``message``, ``penalty`` and ``saved``, null if no single move could meet the rule);
        ``moved`` (null without previous clusters; each ``sample``, ``before``, null for a new one,
        and ``after``); ``mixed`` (null unless groups are to be alike: ``means`` of each group,
        ``overall``, ``spread``, ``least_spread``, ``deviation``, of each of ``features``);
        ``seconds``, ``iterations``, ``solver``; ``settings``, ``versions``.

    Examples
    --------
    >>> import bckm
    >>> from bckm import report
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> rules = bckm.Constraints(size_max=3)
    >>> found = report.summary(bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules))
    >>> found["sizes"], found["rules"]
    ([2, 2], [{'kind': 'size', 'soft': False, 'asked': 2, 'kept': 2}])
    """
    from bckm.report._facts import Facts
    from bckm.report._summary import summary_of

    return summary_of(Facts.of(study))


def compare(studies: Sequence[Study], names: Sequence[str] | None = None) -> Comparison:
    """Compare two or more studies side by side.

    Parameters
    ----------
    studies : sequence of Study
        At least two. Samples are matched by id or, without ids, by order if the numbers of samples
        are equal.
    names : sequence of str, optional
        Names of the studies; by default their titles.

    Returns
    -------
    Comparison
        With ``text()``, ``markdown()``, ``dict()``.

    Examples
    --------
    >>> import bckm
    >>> from bckm import report
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> free = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X)
    >>> rules = bckm.Constraints(must_link=[(0, 3)])
    >>> tied = bckm.Study.of(bckm.kmeans(X, 2, rules, random_state=0), X, rules)
    >>> found = report.compare([free, tied], ["free", "tied"])
    >>> found.agreements[0].moved, round(found.rows[1]["ratio"], 2)
    (1, 48.67)
    """
    from bckm.report._compare import comparison_of

    return comparison_of(studies, names)


def write(study: Study, path: str | os.PathLike[str]) -> None:
    """Write a report to a file, completely or not at all.

    Parameters
    ----------
    study : Study
        What to report.
    path : str or path
        The suffix determines the format: .html or .htm, .md or .markdown, .json, .txt.

    Examples
    --------
    >>> import pathlib, tempfile, bckm
    >>> from bckm import report
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> study = bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "report.html")
    ...     report.write(study, path)
    ...     path.read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    import json

    from bckm._storage.atomic import atomic

    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix in (".html", ".htm"):
        found = html(study)
    elif suffix in (".md", ".markdown"):
        found = markdown(study)
    elif suffix == ".json":
        found = json.dumps(summary(study), indent=2, allow_nan=False) + "\n"
    elif suffix == ".txt":
        found = text(study)
    else:
        raise ValueError(f"reports must end in .html, .md, .json or .txt; got {os.fspath(path)!r}.")
    with atomic(path, "w") as file:
        file.write(found)
