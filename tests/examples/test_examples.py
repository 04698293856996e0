"""The examples run, and what they print and claim is so."""

import re
from pathlib import Path

import numpy as np
import pytest

from examples import (
    delivery_tours,
    few_known_labels,
    gpu_shards,
    inverted_file_index,
    mixed_classes,
    refit_with_little_churn,
    sales_territories,
    school_classes,
    shards_on_a_cluster,
)

pytestmark = pytest.mark.full
FOLDER = Path(__file__).parents[2] / "examples"


def numbers(line):
    """Numbers of a printed line."""
    return [float(one.replace(",", "")) for one in re.findall(r"\d[\d,]*\.?\d*", line)]


def test_mixed_classes_are_alike_where_plain_ones_are_not(capsys):
    facts = mixed_classes.main()
    assert facts.broken == 0
    assert facts.apart.max() < 0.05
    assert facts.variances_apart.max() < 0.1
    assert facts.random_apart.min() > 0.3
    assert facts.plain_apart.min() > 1.5
    assert np.ptp(facts.girls) <= 1
    printed = capsys.readouterr().out
    assert numbers(re.search(r"language .*", printed)[0]) == [
        round(float(facts.apart[1]), 4),
        round(float(facts.random_apart[1]), 2),
        round(float(facts.plain_apart[1]), 2),
    ]


def test_territories_are_balanced_where_plain_ones_are_not(capsys):
    facts = sales_territories.main(n=200)
    share = facts.total / sales_territories.SELLERS
    assert facts.broken == 0
    assert facts.people.sum() == facts.plain_people.sum() == facts.total
    assert (np.abs(facts.people / share - 1) <= 0.05 + 1e-9).all()
    assert np.abs(facts.plain_people / share - 1).max() > 0.2
    assert facts.price > 0
    assert (facts.radius > 10).all()
    assert (facts.radius < 500).all()
    printed = capsys.readouterr().out
    shares = [float(one) for one in re.findall(r"([\d.]+)%   +\d+ km", printed)]
    assert len(shares) == sales_territories.SELLERS
    assert min(shares) >= 95
    assert max(shares) <= 105


def test_distances_on_the_globe():
    paris, berlin = np.array([[48.8566, 2.3522]]), np.array([[52.52, 13.405]])
    assert sales_territories.distance(paris, berlin)[0] == pytest.approx(877.5, abs=1)


def test_classes_keep_their_promises(capsys):
    facts = school_classes.main()
    assert facts.sizes.tolist() == [24, 24, 24]
    assert facts.broken == facts.soft_broken == 0
    assert facts.plain_broken > 0
    assert facts.support.max() <= 3
    homes, gender = school_classes.draw()
    assert len(homes) == len(school_classes.NAMES) == 72
    assert np.abs(facts.girls / 24 - np.mean([one == "girl" for one in gender])).max() <= 0.1
    # exactly the chain and what keeps its ends apart
    assert len(facts.conflict) == 4
    assert all(re.search("Ada|Mila", rule) for rule in facts.conflict)
    assert facts.granted + len(facts.violated) == len(school_classes.FRIENDS) + 1
    assert len(facts.violated) == 1
    printed = capsys.readouterr().out
    assert "5 of 6 wishes are granted" in printed
    assert all(words in printed for words in (*facts.conflict, *facts.violated))
    broken = next(line for line in printed.splitlines() if "broken rules" in line)
    assert numbers(broken) == [0, facts.plain_broken]


def test_labels_choose_between_clusterings(capsys):
    facts = few_known_labels.main()
    weak, strong = facts.scores.values()
    at = dict(zip(facts.shares, weak.smallest, strict=True))
    begun = dict(zip(facts.shares, weak.from_labels, strict=True))
    alone = dict(zip(facts.shares, weak.classifier, strict=True))
    assert facts.broken == 0
    # where light is strong, only a metric that makes it count less finds the kinds
    assert max(strong.smallest[1:] + strong.from_labels[1:]) < 0.4
    assert min(strong.learned[1:]) > 0.85
    assert min(weak.learned[2:] + strong.learned[2:]) > 0.95
    assert facts.study.metric == "learned"
    assert at[0] < 0.4  # three classes: no better than a guess
    assert at[0.01] < 0.4
    assert min(at[0.05], at[0.1]) > 0.95
    assert min(begun[0.01], begun[0.05], begun[0.1]) > 0.95
    assert all(begun[share] > alone[share] for share in (0.01, 0.05, 0.1))
    printed = capsys.readouterr().out
    assert f"{at[0]:.1%}" in printed
    assert f"{begun[0.01]:.1%}" in printed
    assert f"{strong.learned[1]:.1%}" in printed
    assert facts.message in printed


def test_balanced_lists_have_no_slow_queries(capsys):
    n, k = 5_000, 20
    facts = inverted_file_index.main(n=n, k=k)
    balanced, plain = facts.balanced, facts.plain
    assert facts.broken == 0
    assert balanced.longest <= facts.size_max < plain.longest
    assert n / k <= balanced.expected < plain.expected
    assert balanced.worst < plain.worst
    assert balanced.scanned < plain.scanned
    assert balanced.recall > plain.recall - 0.03  # a little less for each list looked into
    assert plain.recall > 0.9
    assert f"{plain.longest:,}" in capsys.readouterr().out


def test_first_moves_buy_the_most(capsys):
    facts = refit_with_little_churn.main()
    nobody, free, priced, few = facts.nobody, facts.free, facts.priced, facts.few
    assert facts.broken == 0
    assert nobody.moved == 0
    assert few.moved <= facts.allowed == 10
    assert nobody.inertia > few.inertia > priced.inertia > free.inertia
    assert few.moved < priced.moved < free.moved
    assert few.bought > priced.bought > free.bought > 0
    assert priced.bought > refit_with_little_churn.PRICE
    assert facts.paid == pytest.approx(priced.moved * refit_with_little_churn.PRICE)
    lines = capsys.readouterr().out.splitlines()[-4:]
    assert [line[15:].split()[0] for line in lines] == [
        str(one.moved) for one in (nobody, free, priced, few)
    ]


def test_vans_are_not_overloaded(capsys):
    facts = delivery_tours.main()
    assert facts.broken == 0
    for what, most in delivery_tours.CAPACITY.items():
        assert (facts.load[what] <= most).all()
        assert facts.load[what].sum() == facts.plain_load[what].sum()
    assert facts.overloaded > 0
    assert facts.plain_broken >= facts.overloaded
    assert facts.price > 0
    assert 0 <= facts.gap < 0.05
    printed = capsys.readouterr().out
    for line in printed.splitlines():
        for load, most in re.findall(r"(\d+) of +(\d+)", line):
            assert int(load) <= int(most)
    assert f"{facts.gap:.2%}" in printed


def test_shards_are_equal_on_a_cluster(capsys):
    n, k = 8_000, 8
    facts = shards_on_a_cluster.main(n=n, k=k)
    assert facts.sizes.sum() == facts.plain_sizes.sum() == n
    assert facts.sizes.min() >= 0.99 * n / k
    assert facts.sizes.max() <= 1.01 * n / k
    assert facts.plain_sizes.max() > 1.5 * n / k
    assert facts.differ == 0
    assert 0 < facts.price < 1
    assert f"{facts.passes} passes" in capsys.readouterr().out


def test_shards_of_embeddings_are_equal_wherever_they_are(capsys):
    n, k = 6_000, 16
    facts = gpu_shards.main(n=n, k=k)
    assert (facts.sizes == n // k).all()
    assert facts.plain_sizes.sum() == n
    assert facts.plain_sizes.max() > 1.5 * n / k
    assert 0 < facts.price < 1
    assert (facts.radius > 0).all()
    assert (facts.radius < 2).all()
    assert f"{n:,} embeddings on {facts.where}" in capsys.readouterr().out


def test_every_example_is_listed_and_asks_a_question():
    listed = (FOLDER / "README.md").read_text()
    found = sorted(FOLDER.glob("*.py"))
    assert len(found) == 9
    for path in found:
        text = path.read_text()
        assert f"({path.name})" in listed
        assert text.splitlines()[0].endswith("?")
        assert text.endswith('if __name__ == "__main__":\n    main()\n')
