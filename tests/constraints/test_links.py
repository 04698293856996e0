"""Links as arrays: every door, what they cost, and what they look like one by one."""

import gc
import pickle
import tracemalloc
from itertools import combinations

import numpy as np
import pytest

import bckm
from bckm import Constraints
from bckm.constraints import links as links_module
from bckm.constraints.links import Block, Link, Links, starts_of
from bckm.constraints.relabel import Positions
from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import CannotLink, MustLink

PAIRS = [(0, 3), (2, 1), (5, 4)]


def of_labels(size=400, classes=5):
    """All pairs of so many samples, by whether their labels are equal."""
    y = np.arange(size) % classes
    pairs = np.stack(np.triu_indices(size, 1), axis=1)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return y, pairs[same], pairs[~same]


# -- doors ------------------------------------------------------------------------------------

DOORS = {
    "array": np.array(PAIRS),
    "narrow": np.array(PAIRS, np.int16),
    "unsigned": np.array(PAIRS, np.uint64),
    "by column": np.asfortranarray(PAIRS),
    "not contiguous": np.array(PAIRS)[:, ::-1][:, ::-1],
    "objects": np.array(PAIRS, object),
    "list of tuples": PAIRS,
    "tuple of lists": tuple(map(list, PAIRS)),
    "iterator": iter(PAIRS),
    "iterators": [iter(pair) for pair in PAIRS],
    "arrays": [np.array(pair) for pair in PAIRS],
    "NumPy numbers": [tuple(np.array(pair)) for pair in PAIRS],
    "links": [Link(pair) for pair in PAIRS],
}


@pytest.mark.parametrize("door", DOORS)
def test_all_doors_lead_to_the_same_links(door):
    given = DOORS[door]
    rules = Constraints(cannot_link=given)
    assert rules.cannot_link == tuple(PAIRS)
    assert [type(p) for link in rules.cannot_link for p in link] == [int] * 6
    assert len(rules.cannot_link.blocks) == 1
    assert rules.cannot_link.blocks[0].samples.dtype == np.int32
    assert rules.rules(6, 3)[:3] == [CannotLink(pair) for pair in PAIRS]


def test_a_frame_is_a_door():
    pd = pytest.importorskip("pandas")
    assert Constraints(must_link=pd.DataFrame(PAIRS)).must_link == tuple(PAIRS)


def test_what_the_caller_changes_later_does_not_matter():
    given = np.array(PAIRS, np.int32)
    rules = Constraints(must_link=given)
    given[:] = 0
    assert rules.must_link == tuple(PAIRS)
    with pytest.raises(ValueError, match="read-only"):
        rules.must_link.blocks[0].samples[0] = 7


def test_sets_and_pairs_keep_their_order():
    asked = Constraints(must_link=[(4, 3), {9, 7, 8}, [1, 0, 2], (5, 6)])
    assert asked.must_link == ((4, 3), (7, 8, 9), (1, 0, 2), (5, 6))
    assert [len(rule.samples) for rule in asked.rules(10, 2)[:4]] == [2, 3, 3, 2]
    assert Constraints(must_link=[(4, 4), (1, 2, 1), (5, 6)]).must_link == ((4,), (1, 2), (5, 6))


def test_numbers_beyond_64_bits_are_told_as_such():
    with pytest.raises(ValueError, match="refers to samples 0 and 1180591620717411303424"):
        Constraints(must_link=[(0, 2**70)]).rules(5, 2)
    asked = Constraints(must_link=[(2**70, -3)], by="sample_id")
    assert asked.locate([-3, 2**70]).constraints.must_link == ((1, 0),)


MANY = [(p, p + 1) for p in range(50)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([*MANY, (3, -1), (4, -2)], "at least 0; got -1 "),
        (np.array([*MANY, (3, -1), (4, -2)]), "at least 0; got -1 "),
        ([*MANY, (3, 1.0), (4, "x")], r"got 1.0 in \(3, 1.0\)"),
        ([*MANY, (3, True)], r"got True in \(3, True\)"),
        (np.array(MANY, float), r"got 0.0 in \[0.0, 1.0\]"),
        ([*MANY, (), 3], "contains an empty link"),
        ([*MANY, 3, ()], "single value 3"),
        (np.arange(4), "single value 0"),
        (np.zeros((3, 0), int), "contains an empty link"),
        (np.zeros((2, 2, 2), int), r"got \[0, 0\] in"),
        ([*MANY, (7, 7), (8, 8)], "separates sample 7 from itself"),
        ([*MANY, (1, 2, 3), (6, 5, 6), (8, 8)], "separates sample 6 from itself"),
        (np.ma.masked_equal([*MANY, (3, 9)], 9), "got None"),
    ],
    ids=str,
)
def test_the_first_of_many_that_is_wrong_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        Constraints(cannot_link=wrong)


def test_the_first_that_is_not_there_is_named():
    for door in (np.array, list):
        rules = Constraints(must_link=door([*MANY, (60, 3), (3, 99)]))
        with pytest.raises(ValueError, match="must_link refers to samples 60 and 3, but"):
            rules.rules(60, 2)
    grouped = Constraints(groups=[0, 1, 0])
    with pytest.raises(ValueError, match="group 0 comes from 3 values, but there are 4 samples"):
        grouped.rules(4, 2)


# -- what they cost ---------------------------------------------------------------------------


@pytest.fixture
def no_single_links(monkeypatch):
    """How many links were made one by one."""
    made = []

    class Counted(Link):
        def __new__(cls, *arguments):
            made.append(arguments)
            return Link(*arguments)

    monkeypatch.setattr(links_module, "Link", Counted)
    return made


def test_no_link_becomes_an_object_before_it_is_named(no_single_links, tmp_path):
    n = 60
    y, same, apart = of_labels(n)
    rules = Constraints(same, apart.tolist()) & Constraints(cannot_link=apart).soft(price=0.5)
    names = [f"s{p}" for p in range(n)]
    by_id = Constraints([(names[a], names[b]) for a, b in same], by="sample_id").locate(names)
    rules &= by_id.constraints
    assert bckm.check(n, 5, rules)
    assert bckm.verify(y, 5, rules) == []
    rules.take(np.arange(0, n, 2))
    X = y[:, None] + np.linspace(0, 0.1, n)[:, None]
    result = bckm.kmeans(X, 5, rules, random_state=0, search="none")
    study = bckm.Study.of(result, X, rules)
    bckm.save(study, tmp_path / "study.bckm")
    bckm.load(tmp_path / "study.bckm")
    assert not no_single_links
    assert len(bckm.verify(np.roll(y, 1)[::-1] // 4, 5, rules)) > 0
    assert no_single_links


def traced(call):
    gc.collect()
    tracemalloc.start()
    kept = call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, kept


def test_bytes_per_link():
    """Stated, checked and compiled: 560 bytes when every link was an object."""
    y, same, apart = of_labels()
    number = len(same) + len(apart)
    told = [list(map(tuple, part.tolist())) for part in (same, apart)]
    bckm.check(400, 5, Constraints(same[:9], apart[:9]))  # what is made once
    for given in ((same, apart), told):
        peak, answer = traced(lambda given=given: bckm.check(400, 5, Constraints(*given)))
        assert answer
        assert peak < 40 * number
    peak, violations = traced(lambda: bckm.verify(y, 5, Constraints(same, apart)))
    assert violations == []
    assert peak < 60 * number


def test_pairs_of_labels_compile_to_what_the_labels_do():
    from bckm.problem.structure import Structure, contract

    y, same, apart = of_labels(60)
    found = []
    for rules in (Constraints(same, apart), Constraints.from_labels(y)):
        listed = rules.rules(60, 5)
        found.append(Structure.compile(listed, contract(listed, 60), 5))
    pairs, labels = found
    assert pairs.item.tolist() == labels.item.tolist()
    assert pairs.edges.tolist() == labels.edges.tolist()
    assert [c.tolist() for c in pairs.cliques] == [c.tolist() for c in labels.cliques]


# -- one by one -------------------------------------------------------------------------------


def drawn_block(rng):
    length = rng.integers(1, 5, rng.integers(1, 9))
    samples = rng.integers(0, 20, length.sum())
    names = np.array([f"n{p}" for p in samples], object) if rng.random() < 0.5 else None
    return Block.of(
        samples, length, [str(one) for one in rng.integers(0, 3, length.size)], ids=names
    )


def as_told(block):
    return [(tuple(link), link.why, link.ids) for link in block]


@pytest.mark.parametrize("seed", range(20))
def test_blocks_are_lists_of_links(seed):
    rng = np.random.default_rng(seed)
    block = drawn_block(rng)
    told = as_told(block)
    assert len(told) == len(block)
    at = rng.permutation(len(block))[: len(block) // 2 + 1]
    assert as_told(block.take(at)) == [told[one] for one in at]
    those = rng.random(block.samples.size) < 0.7
    kept, rest = block.keep(those)
    wanted, cuts = [], starts_of(block.length)
    for number, (link, why, ids) in enumerate(told):
        inside = those[cuts[number] : cuts[number + 1]].tolist()
        left = [p for p, keep in zip(link, inside, strict=True) if keep]
        called = ids and tuple(n for n, keep in zip(ids, inside, strict=True) if keep)
        assert kept[number] == (len(left) > 1)
        wanted += [(tuple(left), why, called)] * (len(left) > 1)
    assert as_told(rest) == wanted
    pairs, of = block.every_pair()
    wanted = [(pair, why) for link, why, _ in told for pair in combinations(link, 2)]
    assert [(link, why) for link, why, _ in as_told(pairs)] == wanted
    if isinstance(of, np.ndarray):
        assert of.tolist() == [a for a, one in enumerate(told) for _ in combinations(one[0], 2)]
    twos, numbers = block.pairs()
    assert twos.tolist() == [list(link) for link, _, _ in told if len(link) == 2]
    numbers = range(len(block)) if numbers is None else numbers.tolist()
    assert list(numbers) == [a for a, one in enumerate(told) if len(one[0]) == 2]
    larger, numbers = block.larger()
    assert as_told(larger) == [one for one in told if len(one[0]) > 2]
    assert numbers.tolist() == [a for a, one in enumerate(told) if len(one[0]) > 2]


def test_links_are_a_sequence_like_a_tuple():
    links = Links([Block.of(np.array([0, 1, 2, 3]), np.array([2, 2])), Block(np.array([5, 4]))])
    assert list(links) == [(0, 1), (2, 3), (5, 4)]
    assert (links[-1], links[0], links[1:]) == ((5, 4), (0, 1), ((2, 3), (5, 4)))
    assert links == ((0, 1), (2, 3), (5, 4)) == links
    assert links != ((0, 1),)
    assert hash(links) == hash(((0, 1), (2, 3), (5, 4)))
    assert repr(links) == "((0, 1), (2, 3), (5, 4))"
    assert pickle.loads(pickle.dumps(links)) == links
    assert links.take(np.array([0, 2])) == ((0, 1), (5, 4))
    assert not Links()
    for at in (3, -4):
        with pytest.raises(IndexError):
            links[at]
    many = Constraints(must_link=np.arange(2_000_000).reshape(-1, 2)).must_link
    assert repr(many).endswith("(198, 199), ... 999,900 more)")


def test_rules_are_a_sequence_and_blocks_can_be_taken_from_them():
    asked = Constraints(PAIRS, [(0, 1), (2, 3, 4)], size_max=4, fixed={1: 0})
    rules = asked.rules(6, 3)
    listed = list(rules)
    assert rules == listed
    assert rules == Rules.of(listed)
    assert (rules[-1], rules[0], rules[2:5]) == (listed[-1], listed[0], listed[2:5])
    assert list(rules.must_links) == [rule for rule in listed if isinstance(rule, MustLink)]
    assert list(rules.cannot_links) == [rule for rule in listed if isinstance(rule, CannotLink)]
    assert rules.others == [r for r in listed if not isinstance(r, MustLink | CannotLink)]
    for at in ([0, 2, 4, 6], [3], range(len(listed)), [7, 1]):
        assert list(rules.take(np.array(at))) == [listed[one] for one in sorted(at)]
    with pytest.raises(IndexError):
        rules[len(listed)]


# -- ids --------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [[7, 3, 5], [-7, 10**12, 0], ["a", 3, None], [2.0, "b", 1]])
def test_positions_of_any_names(names):
    positions = Positions(names)
    asked = [names[2], names[0], "absent", 4, names[1], 10**15, -1]
    expected = [names.index(one) if one in names else -1 for one in asked]
    assert positions.of(np.array(asked, object)).tolist() == expected
    numbers = [one for one in asked if type(one) is int]
    expected = [names.index(one) if one in names else -1 for one in numbers]
    assert positions.of(np.array(numbers)).tolist() == expected


def test_links_keep_their_ids_without_a_copy():
    asked = Constraints(must_link=np.array([[30, 10], [20, 30]]), by="sample_id")
    located = asked.locate([10, 20, 30]).constraints
    assert located.must_link == ((2, 0), (1, 2))
    assert located.must_link[0].ids == (30, 10)
    assert located.must_link.blocks[0].ids is asked.must_link.blocks[0].samples


def test_dropped_rules_are_told_when_read():
    asked = Constraints(must_link=[("a", "b"), ("a", "x", "c"), ("y", "z")], by="sample_id")
    asked &= Constraints(fixed={"x": 0}, by="sample_id")
    located = asked.locate(["a", "b", "c"], missing="drop")
    words = (
        "must-link of samples 'a', 'x' and 'c'",
        "must-link of samples 'y' and 'z'",
        "fixed cluster of sample 'x'",
    )
    assert located.dropped == words
    assert (len(located.dropped), located.dropped[-1], located.dropped[:2]) == (
        3,
        words[-1],
        words[:2],
    )
    assert located.dropped + located.dropped == words * 2
    assert located.constraints.must_link == ((0, 1), (0, 2))


def test_prices_follow_the_links_that_are_left():
    links = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(1, 2), (3, 4), (0, 4)])
    soft = links.soft(price=[1.0, 2.0, 3.0, 4.0, 5.0]).take([0, 1, 2, 4])
    found = [(rule.rule.samples, rule.weight) for rule in soft.soft_rules(4, 2)]
    assert found == [((0, 1), 1.0), ((1, 2), 3.0), ((0, 3), 5.0)]
