"""What a problem asks of an engine, beyond the nearest cluster of each item."""

from __future__ import annotations

from enum import Flag, auto


class Feature(Flag):
    """What a problem asks of an engine beyond 'every item in its nearest cluster'."""

    NONE = 0
    NONEMPTY = auto()  # no cluster is empty
    SIZES = auto()  # bounds on the number of samples
    CONFLICTS = auto()  # cannot-links
    ROWS = auto()  # sums, quotas, general linear rows
    MUST_LINKS_AND_SIZES = auto()  # items of several samples, where sizes are bounded
    FIXED = auto()  # clusters that some items are fixed to, or that are forbidden or cost more
    SOFT_LINKS = auto()
    SOFT_SUMS = auto()  # soft sizes, sums and quotas

    @property
    def words(self) -> str:
        """The features for a person."""
        return " and ".join(_FEATURE_WORDS[feature] for feature in self)


_FEATURE_WORDS = {
    Feature.NONEMPTY: "clusters that must not be empty",
    Feature.SIZES: "size bounds",
    Feature.CONFLICTS: "cannot-links",
    Feature.ROWS: "linear rows",
    Feature.MUST_LINKS_AND_SIZES: "must-links together with size bounds",
    Feature.FIXED: "fixed or previous clusters",
    Feature.SOFT_LINKS: "soft links",
    Feature.SOFT_SUMS: "soft sizes, sums or quotas",
}
