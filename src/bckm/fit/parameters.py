"""The parameters of a fit, in one table: names, kinds, choices, defaults and what they do.

`kmeans`, `assign_to`, the estimator, the command line, plans and archives take them from here.
Nothing that takes long is imported, since ``bckm --help`` reads the table too.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

T = TypeVar("T", bound=Callable[..., Any])
Kind = Literal["choice", "count", "amount", "seconds", "threads", "seed", "centers", "samples"]


@dataclass(frozen=True)
class Parameter:
    """A parameter of `bckm.kmeans`.

    Attributes
    ----------
    name : str
        As in Python.
    kind : str
        What values it takes beside its choices.
    default : object
        Its default.
    text : str
        What docstrings say.
    form : str
        What docstrings call the type of values other than its choices.
    choices : tuple of str
        Words it takes.
    option : str
        Its name on the command line and in plans, where it has one,
    help : str
        and what the command line says, with the default unless that is `default`.
    """

    name: str
    kind: Kind
    default: Any
    text: str
    form: str = ""
    choices: tuple[str, ...] = ()
    option: str = ""
    help: str = ""

    @property
    def expected(self) -> str:
        """What it must be, for messages."""
        words = ", ".join(map(repr, self.choices))
        return f"{words} or {self.form}" if self.form else f"one of {words}"

    @property
    def entry(self) -> str:
        """What docstrings say of it, in numpydoc's form."""
        words = ", ".join(f'"{word}"' for word in self.choices)
        forms = [f"{{{words}}}" if len(self.choices) > 1 else words, self.form]
        default = f'"{self.default}"' if isinstance(self.default, str) else repr(self.default)
        first = f"{self.name} : {' or '.join(filter(None, forms))}, default={default}"
        return f"{first}\n{textwrap.indent(textwrap.fill(self.text, 92), '    ')}"


SETTINGS = (
    Parameter(
        "objective",
        "choice",
        "compact",
        '"compact": samples of a cluster are near each other (k-means). "mixed": clusters are '
        "alike, each a mix of everything, as classes, teams and study arms should be: the sum of "
        "squares between clusters is minimized, so that the means of all features are as equal as "
        'the rules admit (k-means anticlustering). "mixed_variances": their variances, too. Sizes '
        "are then as equal as possible unless rules state any. Scale the features first: those "
        "that vary more count more. Of other settings `search`, `n_init`, `time_limit`, `n_jobs` "
        'and `random_state` apply: "auto" makes a fixed number of moves, "local" a tenth of them, '
        '"none" none, "global" more and more of them, and with a `time_limit` goes on until then.',
        choices=("compact", "mixed", "mixed_variances"),
        option="objective",
        help="compact: rows of a cluster are near each other. mixed: clusters are alike, each a "
        "mix of everything: equal means. mixed_variances: equal means and variances.",
    ),
    Parameter(
        "solver",
        "choice",
        "auto",
        'Engine of the assignment steps. "auto" is "transport" if only sizes are bounded; '
        'otherwise "exact" with a work limit per step where proofs are quick; otherwise, mainly '
        'for capacities and quotas, "lagrangian": labels close to the optimum, with a bound. A '
        "custom engine is a `bckm.assign.Engine`.",
        form="Engine",
        choices=("auto", "nearest", "transport", "exact", "lagrangian", "pump", "greedy"),
        option="solver",
        help="Engine of the assignment steps.",
    ),
    Parameter(
        "init",
        "centers",
        "k-means++",
        "Initial centers. If links join samples into groups that must be pairwise apart, the "
        'first start of "k-means++" begins with these groups. Given centers are the only start, '
        'and no others are derived from them unless ``search="global"``. A callable '
        "``init(X, n_clusters, random_state)`` returns centers, as in scikit-learn.",
        form="array of shape (n_clusters, n_features) or callable",
        choices=("k-means++", "random"),
    ),
    Parameter(
        "n_init",
        "count",
        "auto",
        'Number of starts; the best is kept. "auto" is 10 for "random" and a callable; for '
        '"k-means++" it is 1, but up to 20 for small problems, where starts are cheap, and 4 or '
        "more where annealing makes them (see `search`).",
        form="int",
        choices=("auto",),
        option="n-init",
        help="Number of starts; the best is kept. Default: 1, up to 20 for small tables.",
    ),
    Parameter(
        "search",
        "choice",
        "auto",
        'How to improve on the alternation of assignments and means. "none": no search. "local": '
        "each start continues with moves of a few samples, whose effect on the inertia is computed "
        'exactly, until none helps. "auto": some of that, plus a few further starts derived from '
        "the best ones, or centers taken to where they are missing; under rules whose assignments "
        'are slow, annealing before any of them; in total two to three times as long as "none", '
        'rarely four. "global": the same, then further starts until 200 in a row bring no '
        "improvement (with annealing: four times, each twice as long); with a `time_limit`, again "
        "from new starts until it is reached or the same best clustering was found three times. "
        'With sparse data or without the compiled kernels, "auto" does nothing, and "local" and '
        '"global" raise an error.',
        choices=("auto", "none", "local", "global"),
        option="search",
        help="How hard to search for better clusters.",
    ),
    Parameter(
        "metric",
        "choice",
        "euclidean",
        'Distance. "cosine": only the direction of a sample counts; k-means of the rows divided by '
        'their length, where ``|x - y|^2 = 2 (1 - cos)``. "latlon": X has two columns, latitude '
        "and longitude in degrees; k-means of points on a sphere of radius 6371.0088 km, so the "
        'inertia is in km^2. "haversine": the same in radians, as in scikit-learn, on a sphere of '
        "radius 1. Distances are chords, which are 0.1 % shorter than arcs at 1,000 km. Centers "
        'passed in and returned have the same columns as X. "learned": a linear map is learned '
        "from the must-links, groups, partial labels and fixed clusters among the rules, so that "
        "differences inside must-link sets count less; inertia, bounds and prices are those of the "
        "learned space. It is judged on links it did not see, and the plain metric is kept unless "
        "it is better: ``result.metric.judgment`` says which, and why. What was learned, "
        "``result.metric`` or a fitted `bckm.LearnedMetric`, may be passed, too.",
        form="Metric or fitted LearnedMetric",
        choices=("euclidean", "cosine", "latlon", "haversine", "learned"),
        option="metric",
        help="Distance; latlon: latitude, then longitude, in degrees (haversine: in radians); "
        "learned: from rows that rules keep together, if that is better.",
    ),
    Parameter(
        "label_bounds",
        "choice",
        "matched",
        'Label i always obeys bound i. "matched" chooses which of the clusters found becomes label '
        'i; "given" ties label i to row i of `init`, which must then be an array.',
        choices=("matched", "given"),
    ),
    Parameter(
        "max_iter",
        "count",
        300,
        "Maximum number of iterations per start.",
        form="int",
        option="max-iter",
        help="Maximum number of iterations per start.",
    ),
    Parameter(
        "tol",
        "amount",
        1e-4,
        "A start ends when the squared movement of the centers falls below this share of the mean "
        "variance of the features; 0 iterates until nothing changes.",
        form="float",
        option="tol",
        help="Stop a start when its centers move less than this share of the variance.",
    ),
    Parameter(
        "time_limit",
        "seconds",
        None,
        "Time limit in seconds for the whole call; the best labels found by then are returned.",
        form="float",
        option="time-limit",
        help="Time limit in seconds; the best clusters found by then are written.",
    ),
    Parameter(
        "n_jobs",
        "threads",
        None,
        "Number of threads of compiled code: None and -1 use all cores available to this process, "
        "-2 all but one. Results do not depend on it.",
        form="int",
        option="jobs",
        help="Number of threads. Default: all cores.",
    ),
    Parameter(
        "random_state",
        "seed",
        None,
        "Random seed. Each start draws from its own generator.",
        form="int, Generator or RandomState",
        option="seed",
        help="Random seed. Default: 0.",
    ),
)
_OF_SAMPLES = (
    Parameter(
        "sample_weight",
        "samples",
        None,
        "Weights in the objective; sizes count samples, capacities their amounts.",
        form="array of shape (n_samples,)",
    ),
    Parameter(
        "sample_id",
        "samples",
        None,
        'Id of each sample, for rules with ``by="sample_id"``; by default the index of a pandas '
        "frame. Ignored by rules about positions.",
        form="sequence of length n_samples",
    ),
)
PARAMETERS = {parameter.name: parameter for parameter in (*SETTINGS, *_OF_SAMPLES)}


def read_setting(name: str, value: Any) -> Any:
    """Read the value of a setting; a `ValueError` says what it must be.

    Examples
    --------
    >>> from bckm.fit.parameters import read_setting
    >>> read_setting("search", "local"), read_setting("n_init", "auto"), read_setting("n_init", 5)
    ('local', 'auto', 5)
    >>> read_setting("search", "locally")
    Traceback (most recent call last):
    ...
    ValueError: search must be one of 'auto', 'none', 'local', 'global'; got 'locally'.
    """
    from bckm._core import validation  # needs NumPy, unlike the table

    parameter = PARAMETERS[name]
    word = isinstance(value, str)
    if (word and value in parameter.choices) or (value is None and parameter.default is None):
        return value
    if parameter.kind == "choice" or (word and parameter.choices):
        raise ValueError(f"{name} must be {parameter.expected}; got {value!r:.60}.")
    readers: dict[str, Callable[[Any, str], Any]] = {
        "count": validation.read_whole,
        "amount": validation.read_not_negative,
        "seconds": validation.read_not_negative,
        "threads": lambda number, _: validation.read_jobs(number),
        "seed": validation.read_seed,
        "centers": validation.read_centers,
    }
    return readers[parameter.kind](value, name)


def documented(thing: T) -> T:
    """Put the parameters of a function or class into its docstring, where ``{parameters}`` stands.

    Those are meant that are in the table and that the docstring does not describe itself.
    """
    doc = thing.__doc__ or ""  # python -OO leaves none
    place = re.search(r"^( *)\{parameters\}$", doc, re.M)
    if place is not None:
        names = inspect.signature(thing).parameters
        described = set(re.findall(r"^ *(\w+) : ", doc, re.M))
        entries = [
            PARAMETERS[name].entry for name in names if name in PARAMETERS.keys() - described
        ]
        text = textwrap.indent("\n".join(entries), place[1])
        thing.__doc__ = doc[: place.start()] + text + doc[place.end() :]
    return thing
