"""When points are so few that all their costs are kept, and what a step counts then."""

from __future__ import annotations

# no more points than these, in all or per cluster, no more costs, no more differences in these, and
# fewer clusters
POINTS, PER_CLUSTER = 2**12, 100
COSTS, NUMBERS, CLUSTERS = 2**19, 2**24, 256
# work of a call, of a point, of a cost, of one feature in it, of a path, and of a pair of clusters
# in a path and beside them
CALL, POINT, COST, FEATURE = 6e4, 60.0, 0.8, 0.06
PATH, PATH_PAIR, STEP_PAIR = 1.5e3, 0.25, 8.0


def are_few(n: int, n_features: int, k: int) -> bool:
    """Whether all costs of n points are kept."""
    costs = n * k
    return (
        n <= max(POINTS, PER_CLUSTER * k)
        and k < CLUSTERS
        and costs <= COSTS
        and costs * n_features <= NUMBERS
    )


def work_of_few(evaluated: int, paths: int, k: int, n_features: int) -> float:
    """Work of a step that looked at so many points."""
    points = evaluated * (POINT + k * (COST + FEATURE * n_features))
    return CALL + points + STEP_PAIR * k * k + paths * (PATH + PATH_PAIR * k * k)
