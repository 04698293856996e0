"""What a `Constraints` holds, and how it shows itself."""

from __future__ import annotations

from bckm._core.types import FloatArray, IntArray
from bckm.constraints.expand import Softened
from bckm.constraints.linear_rule import LinearRule
from bckm.constraints.links import Links
from bckm.constraints.parse import Frozen
from bckm.constraints.rules import ClusterNames, Fixed, Forbidden
from bckm.constraints.statements import Capacity, LinearRows, Quota, Stay

Linear = LinearRows | LinearRule

_COUNTED = (
    *("must_link", "cannot_link", "capacities", "quotas", "linear"),
    *("fixed", "forbidden", "stay"),
)


class Fields(Frozen):
    """The fields of `Constraints`, and views of them."""

    # no __len__: cross-validation slices whatever has a length equal to that of X
    __slots__ = (
        "by",
        "cannot_link",
        "cluster_names",
        "fixed",
        "forbidden",
        "must_link",
        "size_max",
        "size_min",
        "softened",
        "statements",
        "stay",
    )

    must_link: Links
    cannot_link: Links
    size_min: IntArray | FloatArray | None  # floats: those below 1 are shares
    size_max: IntArray | FloatArray | None
    statements: tuple[Capacity | Quota | LinearRows | LinearRule, ...]
    fixed: tuple[Fixed, ...]
    forbidden: tuple[Forbidden, ...]
    stay: tuple[Stay, ...]
    softened: tuple[Softened, ...]
    by: str
    cluster_names: ClusterNames | None

    @property
    def capacities(self) -> tuple[Capacity, ...]:
        """All capacities, with their names."""
        return tuple(statement for statement in self.statements if isinstance(statement, Capacity))

    @property
    def quotas(self) -> tuple[Quota, ...]:
        """All quotas."""
        return tuple(statement for statement in self.statements if isinstance(statement, Quota))

    @property
    def linear(self) -> tuple[Linear, ...]:
        """All linear rows."""
        return tuple(statement for statement in self.statements if isinstance(statement, Linear))

    @property
    def fixed_and_forbidden(self) -> tuple[Fixed | Forbidden, ...]:
        """All fixed and forbidden clusters."""
        return (*self.fixed, *self.forbidden)

    @property
    def _other_than_links(self) -> bool:
        sizes = self.size_min is not None or self.size_max is not None
        return bool(sizes or self.statements or self.fixed_and_forbidden)

    @property
    def _names_samples(self) -> bool:
        named = (
            *("must_link", "cannot_link", "fixed", "forbidden"),
            *("capacities", "quotas", "stay"),
        )
        return any(getattr(self, name) for name in named) or any(
            part.constraints._names_samples for part in self.softened
        )

    def __repr__(self) -> str:
        counted = {
            name: f"{name}={len(value)}" for name in _COUNTED if (value := getattr(self, name))
        }
        sizes = [
            f"{name}={value.tolist()}"
            for name in ("size_min", "size_max")
            if (value := getattr(self, name)) is not None
        ]
        links = [counted.pop(name) for name in ("must_link", "cannot_link") if name in counted]
        soft = [f"soft={part.constraints!r}" for part in self.softened]
        rest = ["by='sample_id'"] if self.by == "sample_id" else []
        rest += [f"cluster_names={len(self.cluster_names)}"] if self.cluster_names else []
        return f"Constraints({', '.join([*links, *sizes, *counted.values(), *soft, *rest])})"
