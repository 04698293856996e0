"""From rules to items and back: contraction, conflicts, cliques, bounds, rows."""

import time
from itertools import combinations

import numpy as np
import pytest

from bckm import Capacity, Constraints, LinearRows, verify
from bckm.constraints.rules import CannotLink, MustLink
from bckm.problem.structure import Structure, contract
from tests.support.statements import stated


def compiled(constraints, n_samples, n_clusters):
    rules = constraints.rules(n_samples, n_clusters)
    return Structure.compile(rules, contract(rules, n_samples), n_clusters)


def groups_by_hand(links, n_samples):
    """Merge sets until nothing changes: slow, plain, and owes nothing to graphs."""
    groups = [{p} for p in range(n_samples)]
    for link in links:
        touched = [g for g in groups if g & set(link)]
        groups = [g for g in groups if not g & set(link)] + [set().union(*touched)]
    return sorted(map(sorted, groups))


def groups_of(item):
    return sorted(np.flatnonzero(item == j).tolist() for j in range(item.max() + 1))


def draw_links(rng, n_samples, number, longest=3):
    return [
        tuple(rng.choice(n_samples, rng.integers(2, longest + 1), replace=False).tolist())
        for _ in range(number)
    ]


# -- contraction ------------------------------------------------------------------------------


def test_without_links_every_sample_is_an_item():
    assert contract([], 4).tolist() == [0, 1, 2, 3]


def test_must_links_are_transitive_and_overlap():
    rules = [MustLink((5, 3)), MustLink((0, 5, 6)), MustLink((1, 4))]
    assert contract(rules, 7).tolist() == [0, 1, 2, 0, 1, 0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_contraction_equals_merging_by_hand(seed):
    rng = np.random.default_rng(seed)
    links = draw_links(rng, 15, int(rng.integers(1, 9)), 4)
    item = contract([MustLink(link) for link in links], 15)
    assert groups_of(item) == groups_by_hand(links, 15)
    first = [int(np.argmax(item == j)) for j in range(item.max() + 1)]
    assert first == sorted(first), "items are numbered by their first sample"


@pytest.mark.parametrize("seed", range(5))
def test_contraction_does_not_depend_on_the_order_of_links(seed):
    rng = np.random.default_rng(seed)
    links = draw_links(rng, 15, 6, 4)
    shuffled = [tuple(rng.permutation(links[at]).tolist()) for at in rng.permutation(len(links))]
    assert contract(map(MustLink, links), 15).tolist() == (
        contract(map(MustLink, shuffled), 15).tolist()
    )


def test_cannot_links_do_not_contract():
    assert contract([CannotLink((0, 1)), MustLink((1, 2))], 3).tolist() == [0, 1, 1]


@pytest.mark.full
@pytest.mark.parametrize("order", ["forward", "backward", "shuffled"])
def test_a_chain_of_100_000_samples(order):
    n = 100_000
    links = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    if order == "backward":
        links = links[::-1, ::-1]
    elif order == "shuffled":
        links = np.random.default_rng(0).permutation(links)
    began = time.perf_counter()
    asked = Constraints(links, size_min=0)
    s = compiled(asked, n, 2)
    assert s.count.tolist() == [n]
    assert verify(s.expand(np.array([1])), 2, asked) == []
    assert time.perf_counter() - began < 10


def test_expand_leads_back_to_samples():
    s = compiled(Constraints([(0, 3), (1, 2)]), 5, 3)
    assert s.count.tolist() == [2, 2, 1]
    assert s.n_items == 3
    assert s.expand(np.array([2, 0, 1])).tolist() == [2, 0, 0, 2, 1]
    assert s.sizes(np.array([2, 0, 2])).tolist() == [2, 0, 3]


# -- conflicts --------------------------------------------------------------------------------


def test_cannot_links_are_lifted_to_items():
    s = compiled(Constraints([(0, 1), (2, 3)], [(1, 3), (0, 2), (4, 1)]), 5, 3)
    assert s.edges.tolist() == [[0, 1], [0, 2]], "two links between the same items are one"
    assert s.contradictions == ()
    assert s.neighbors.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [1, 0, 0]]


def test_contradictions_are_kept_apart():
    s = compiled(Constraints([(0, 1), (1, 2)], [(0, 2), (0, 3)]), 4, 2)
    assert s.contradictions == (CannotLink((0, 2)),)
    assert s.edges.tolist() == [[0, 1]]
    assert not s.feasible(np.array([0, 1]))


def test_a_contradicting_set_still_lifts_its_other_pairs():
    s = compiled(Constraints([(0, 1)], [(0, 1, 2)]), 3, 2)
    assert s.contradictions == (CannotLink((0, 1, 2)),)
    assert s.edges.tolist() == [[0, 1]]


def test_a_cannot_link_set_is_one_clique():
    s = compiled(Constraints(cannot_link=[{4, 0, 2, 3}]), 6, 5)
    assert [clique.tolist() for clique in s.cliques] == [[0, 2, 3, 4]]
    assert s.edges.tolist() == [list(pair) for pair in combinations([0, 2, 3, 4], 2)]


def test_pairs_that_form_a_clique_become_one():
    pairs = list(combinations(range(5), 2))
    s = compiled(Constraints(cannot_link=pairs), 6, 6)
    assert [clique.tolist() for clique in s.cliques] == [[0, 1, 2, 3, 4]]


def test_a_path_has_one_clique_per_edge():
    s = compiled(Constraints(cannot_link=[(0, 1), (1, 2), (2, 3)]), 4, 2)
    assert sorted(clique.tolist() for clique in s.cliques) == [[0, 1], [1, 2], [2, 3]]


def test_no_conflicts():
    s = compiled(Constraints(), 4, 2)
    assert s.edges.shape == (0, 2)
    assert len(s.cliques) == 0


@pytest.mark.parametrize("seed", range(30))
def test_cliques_cover_every_edge_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    n = 14
    together, apart = draw_links(rng, n, 3), draw_links(rng, n, int(rng.integers(1, 25)), 5)
    item = contract(map(MustLink, together), n)
    s = compiled(Constraints(together, apart), n, 6)
    expected = {
        tuple(sorted((int(item[p]), int(item[q]))))
        for link in apart
        for p, q in combinations(link, 2)
        if item[p] != item[q]
    }
    assert [tuple(edge) for edge in s.edges.tolist()] == sorted(expected)
    covered = [pair for clique in s.cliques for pair in combinations(clique.tolist(), 2)]
    assert set(covered) == expected


# -- sizes and rows ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "lower", "upper"),
    [
        ({}, [1, 1, 1], [9, 9, 9]),
        ({"size_min": 0}, [0, 0, 0], [9, 9, 9]),
        ({"size_min": 2, "size_max": 4}, [2, 2, 2], [4, 4, 4]),
        ({"size_min": [0, 2, 3]}, [0, 2, 3], [9, 9, 9]),
        ({"size_max": [9, 20, 0]}, [1, 1, 1], [9, 9, 0]),
        ({"size_max": 10**17}, [1, 1, 1], [9, 9, 9]),
    ],
)
def test_size_bounds(asked, lower, upper):
    s = compiled(Constraints(**asked), 9, 3)
    assert s.lower.tolist() == lower
    assert s.upper.tolist() == upper


def test_rows_add_up_over_the_samples_of_an_item():
    kg = Capacity([1, 2, 4], min=[0, 1], max=5)
    s = compiled(Constraints([(0, 2)], capacities={"kg": kg}), 3, 2)
    # one row per cluster, divided by the power of two below its largest coefficient: 1 + 4 = 5
    assert (s.rows.toarray() * 4).tolist() == [[5, 0, 2, 0], [0, 5, 0, 2]]
    assert s.row_lower * 4 == pytest.approx([0, 1], abs=1e-8)
    assert s.row_upper * 4 == pytest.approx([5, 5], abs=1e-8)
    assert s.activity(np.array([1, 0])) * 4 == pytest.approx([2, 5])


def test_general_rows_are_lifted_to_items():
    A = np.arange(1.0, 7.0)[None]  # samples 0, 1, 2 in clusters 0, 1
    s = compiled(Constraints([(0, 2)], linear=LinearRows(A, upper=8)), 3, 2)
    assert (s.rows.toarray() * 8).tolist() == [[1 + 5, 2 + 6, 3, 4]]
    assert s.row_lower.tolist() == [-np.inf]


def test_bounds_of_the_same_row_from_two_constraints_meet():
    kg = Capacity([1, 2, 4], min=1, max=6)
    s = compiled(Constraints(capacities={"kg": kg}) & Constraints(capacities={"kg": kg}), 3, 2)
    assert s.rows.shape[0] == 2


def test_rows_without_coefficients():
    s = compiled(Constraints(linear=LinearRows(np.zeros((1, 4)), lower=1)), 2, 2)
    assert not s.feasible(np.array([0, 1]))
    s = compiled(Constraints(linear=LinearRows(np.zeros((1, 4)), lower=0, upper=0)), 2, 2)
    assert s.feasible(np.array([0, 1]))


@pytest.mark.sampled(15)
@pytest.mark.parametrize("seed", range(40))
def test_feasible_agrees_with_the_checker(seed):
    rng = np.random.default_rng(seed)
    n, k = 9, 3
    rows = []
    if seed % 2:
        rows.append(Capacity(rng.integers(-1, 4, n), 2, [9, 8, 7]))
    if seed % 3 == 0:
        rows.append(LinearRows(rng.integers(-1, 2, (2, n * k)), -3, 3))
    asked = Constraints(
        draw_links(rng, n, 2),
        draw_links(rng, n, 2, 2),
        size_min=[0, 1, 2],
        size_max=[5, 4, 4],
        **stated(rows),
    )
    s = compiled(asked, n, k)
    every = [rng.integers(0, k, s.n_items) for _ in range(200)]
    answers = [s.feasible(labels) for labels in every]
    assert answers == [verify(s.expand(labels), k, asked) == [] for labels in every]


def test_decimal_rows_are_feasible_at_their_bound():
    s = compiled(
        Constraints(capacities={"kg": Capacity([0.1, 0.1, 0.1], max=0.3)}, size_min=0), 3, 2
    )
    assert s.feasible(np.array([0, 0, 0]))


def test_what_the_engines_accept_the_checker_accepts():
    # the slack of the engines lies within the tolerance of the checker, and neither is wide
    for excess in np.geomspace(1e-12, 1e-6, 25):
        asked = Constraints(capacities={"kg": Capacity([1.0, 1.0 + excess], max=2.0)}, size_min=0)
        accepted = compiled(asked, 2, 2).feasible(np.array([0, 0]))
        if accepted:
            assert verify([0, 0], 2, asked) == []
        assert accepted == (excess < 1.1e-9)


# -- which clusters are alike -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "classes"),
    [
        ({}, [0, 0, 0]),
        ({"size_min": 1, "size_max": 3}, [0, 0, 0]),
        ({"size_max": [3, 2, 3]}, [0, 1, 0]),
        ({"size_max": [6, 7, 8]}, [0, 0, 0]),  # bounds above n do not tell clusters apart
        (stated([Capacity([1] * 6, max=5)]), [0, 0, 0]),
        (stated([Capacity([1] * 6, max=[5, 4, 5])]), [0, 1, 0]),
        (stated([Capacity([1] * 6, min=[1, 1, -np.inf])]), [0, 0, 1]),
        ({"linear": LinearRows(np.ones((1, 18)), upper=9)}, [0, 1, 2]),
    ],
)
def test_cluster_classes(asked, classes):
    s = compiled(Constraints(**asked), 6, 3)
    assert s.cluster_class.tolist() == classes
    assert s.interchangeable == (set(classes) == {0})
