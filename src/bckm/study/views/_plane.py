"""`plane`: positions of samples and centers in a figure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bckm._core.types import FloatArray
from bckm.metric.named import LEARNED
from bckm.study import Study
from bckm.study.views._lengths import degree_length, length_unit, words_of

LATITUDE = frozenset(["lat", "latitude", "latitud", "latitudine", "breite", "breitengrad"])
LONGITUDE = frozenset(
    ["lon", "lng", "long", "longitude", "longitud", "longitudine", "länge", "längengrad"]
)
_GOLDEN = (5**0.5 - 1) / 2
_THIN = 4.0  # a picture this many times as long as high is drawn with units of its own per axis
_EXACT = 2_000  # features up to which all eigenvectors are computed
_NOTHING = 1e-12  # share of the first variance below which a component is rounding
_POLAR = 0.1  # cosine of the latitude where a map is not stretched further


@dataclass(frozen=True, eq=False)
class Plane:
    """Samples and centers in two dimensions.

    Attributes
    ----------
    points : array (n, 2)
        Every sample; `shown` selects which to draw if there are many.
    centers : array (k, 2)
        Center of each cluster, including empty ones.
    x_label, y_label : str
        Labels of the axes; names of features as the user wrote them, so neither short nor safe.
        Empty if an axis has no meaning.
    kind : {"columns", "map", "line", "pca"}
        Two features, unscaled; longitude and latitude; one feature, with a height that only
        separates the samples; the first two principal components of the clustered data.
    aspect : float or None
        Length of a unit of y relative to a unit of x, so that distances look right; None if the
        axes have different units.
    explained : tuple of two floats, or None
        Shares of the variance, for "pca".
    unit, length : str, float
        Length of a unit of x, for a scale bar: on a map in km; in the plane in the unit that the
        names of both columns tell, as in "x_km". Empty and 0 if distances have no unit, or not
        the same everywhere in the picture.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[50.1, 8.7], [50.0, 8.3], [53.6, 10.0], [53.1, 8.8]]
    >>> result = bckm.kmeans(X, 2, metric="latlon", random_state=0)
    >>> found = views.plane(bckm.Study.of(result, X))
    >>> found.kind, found.x_label, found.points[0].tolist(), round(found.aspect, 2)
    ('map', 'longitude', [8.7, 50.1], 1.62)
    """

    points: FloatArray
    centers: FloatArray
    x_label: str
    y_label: str
    kind: str
    aspect: float | None = None
    explained: tuple[float, float] | None = None
    unit: str = ""
    length: float = 0.0


def plane(study: Study) -> Plane:
    """Project samples and centers to two dimensions.

    Two features are shown in their original units; coordinates become a map; one feature becomes a
    line; more become the first two principal components of the clustered data (scaled, weighted,
    directions if ``metric="cosine"``, in the learned space if ``metric="learned"``), with signs
    such that the largest loading is positive.
    Longitudes of a map with ``metric="latlon"`` continue beyond 180 if the points do: the map is
    cut at the widest gap.

    Returns
    -------
    Plane
        All samples, in row order.

    Examples
    --------
    >>> import bckm
    >>> from bckm.study import views
    >>> X = [[0.0, 1.0, 5.0], [0.1, 2.0, 5.0], [9.0, 3.0, 5.0], [9.1, 4.0, 5.0]]
    >>> found = views.plane(bckm.Study.of(bckm.kmeans(X, 2, random_state=0), X))
    >>> found.kind, found.x_label, found.y_label
    ('pca', 'component 1 (99 %)', 'component 2 (1 %)')
    >>> found.points.shape, found.centers.shape
    ((4, 2), (2, 2))
    """
    if study.result.metric.turn is not None:
        return _map(study, 0, 1)
    order = coordinates(study)
    if order is not None:
        return _map(study, *order)
    if study.X.shape[1] == 1:
        return _line(study)
    if study.X.shape[1] == 2:
        return _columns(study)
    return _main(study)


def coordinates(study: Study) -> tuple[int, int] | None:
    """Columns of latitude and longitude, if the two features are clearly these."""
    if study.X.shape[1] != 2 or study.metric in ("cosine", "haversine"):
        return None
    words = [set(words_of(name)) for name in study.feature_names]
    for latitude, longitude in ((0, 1), (1, 0)):
        if words[latitude] & LATITUDE and words[longitude] & LONGITUDE:
            most = np.abs(study.X).max(axis=0)
            if most[latitude] <= 90 and most[longitude] <= 360:
                return latitude, longitude
    return None


def unwrapped(longitude: FloatArray, turn: float = 360.0) -> FloatArray:
    """Longitudes that begin behind the widest gap; at -180 degrees where that gap is around 180."""
    half = turn / 2
    east = np.unique(np.mod(longitude + half, turn))  # 0 is the antimeridian
    gaps = np.diff(east, append=east[0] + turn)
    # of equal gaps the one across the antimeridian, where maps are cut
    widest = int(gaps[:-1].argmax()) if gaps[:-1].max(initial=0.0) > gaps[-1] else -1
    return _from(longitude, float(east[widest + 1]) - half if widest >= 0 else -half, turn)


def _from(longitude: FloatArray, begin: float, turn: float = 360.0) -> FloatArray:
    return np.asarray(longitude - turn * np.floor((longitude - begin) / turn))


def _map(study: Study, latitude: int, longitude: int) -> Plane:
    points = study.X[:, [longitude, latitude]].astype(float)
    centers = study.centers[:, [longitude, latitude]].astype(float)
    turn = study.result.metric.turn
    if turn is not None:  # else longitudes were clustered as plain numbers
        points, centers = points * (360.0 / turn), centers * (360.0 / turn)  # a map has degrees
        points[:, 0] = unwrapped(points[:, 0])
        # a center lies between samples, or with rounding just before the first of them
        gap = 360.0 - np.ptp(points[:, 0])
        centers[:, 0] = _from(centers[:, 0], points[:, 0].min() - gap / 2)
    south, north = float(points[:, 1].min()), float(points[:, 1].max())
    middle = (south + north) / 2
    length = 0.0 if study.metric == "haversine" else degree_length((south, north))
    names = study.feature_names
    plain = coordinates(study) is None  # names that say nothing
    return Plane(
        points,
        centers,
        "longitude" if plain else names[longitude],
        "latitude" if plain else names[latitude],
        "map",
        1.0 / max(float(np.cos(np.radians(middle))), _POLAR),
        unit="km" if length else "",
        length=length,
    )


def _line(study: Study) -> Plane:
    x = study.X[:, 0]
    centers = study.centers[:, 0]
    name = study.feature_names[0]
    if study.metric == "cosine":
        x, centers, name = np.sign(x), study.result.embedded[:, 0], f"sign of {name}"
    rank = np.empty(x.size)
    rank[np.argsort(x, kind="stable")] = np.arange(1, x.size + 1)
    # neighbors in x are far apart in y
    height = np.mod(rank * _GOLDEN, 1.0) - 0.5
    return Plane(
        np.stack([x, height], axis=1),
        np.stack([centers, np.zeros_like(centers)], axis=1),
        name,
        "",
        "line",
    )


def _columns(study: Study) -> Plane:
    points, centers, names = study.X, study.centers, study.feature_names
    unit = study.scaling.factor
    if study.metric == "cosine":
        points = study.result.metric.embedded(study.scaled)
        centers, unit = study.result.embedded, np.ones(2)
        names = tuple(f"{name} (direction)" for name in names)
    x, y = np.ptp(points, axis=0) / unit
    aspect = float(unit[0] / unit[1]) if _comparable(x, y) else None
    told = length_unit(names) if aspect == 1.0 and study.metric != "cosine" else ""
    return Plane(
        np.asarray(points, float),
        np.asarray(centers, float),
        names[0],
        names[1],
        "columns",
        aspect,
        unit=told,
        length=1.0 if told else 0.0,
    )


def _comparable(x: float, y: float) -> bool:
    """Whether both lengths can be drawn in one unit."""
    return bool(0 < x <= _THIN * y and 0 < y <= _THIN * x)


def _main(study: Study) -> Plane:
    rows = np.asarray(study.result.metric.embedded(study.scaled), float)
    share = np.ones(len(rows)) if study.sample_weight is None else study.sample_weight
    share = share / share.max() if share.max() > 0 else np.ones(len(rows))
    share = share / share.sum()
    # the data may be far from the origin: differences are taken before anything is squared
    first = rows[0].copy()
    rows -= first  # `scaled` is a copy
    shift = share @ rows
    rows -= shift
    middle, unit = first + shift, float(np.abs(rows).max())
    if unit <= 4 * np.finfo(float).eps * np.abs(middle).max():  # equal rows, but for rounding
        unit = np.inf
    weighted = rows / unit
    weighted *= np.sqrt(share)[:, None]
    axes, explained = _components(weighted)
    points, centers = rows @ axes, (study.result.embedded - middle) @ axes
    learned = "learned " if study.metric == LEARNED else ""
    x_label, y_label = (
        f"{learned}component {at} ({100 * share:.0f} %)"
        for at, share in enumerate(explained, start=1)
    )
    aspect = 1.0 if _comparable(*np.ptp(points, axis=0)) else None
    return Plane(points, centers, x_label, y_label, "pca", aspect, explained)


def _components(rows: FloatArray) -> tuple[FloatArray, tuple[float, float]]:
    """Directions (d, 2) in which rows vary most, and their shares of the variance.

    A direction along which nothing varies is zero.
    """
    d = rows.shape[1]
    if d <= _EXACT:
        values, vectors = np.linalg.eigh(rows.T @ rows)
        values, vectors = values[::-1], vectors.T[::-1]
    else:
        from sklearn.utils.extmath import randomized_svd  # slow to import

        _, values, vectors = randomized_svd(rows, 2, random_state=0)
        values = np.square(values)
    whole, found, share = float(np.vdot(rows, rows)), np.zeros((d, 2)), [0.0, 0.0]
    for at, (value, axis) in enumerate(zip(values[:2], vectors, strict=False)):
        if value > _NOTHING * max(values[0], 1e-300):
            size = np.abs(axis)
            # the first of the largest loadings, so that rounding decides no sign
            found[:, at] = axis * np.sign(axis[np.argmax(size >= (1 - 1e-6) * size.max())])
            share[at] = float(value) / whole
    return found, (share[0], share[1])
