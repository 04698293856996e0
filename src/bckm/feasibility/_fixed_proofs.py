"""Proofs from what is fixed and forbidden, against links, sizes and previous labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bckm.constraints.rule_list import Rules
from bckm.constraints.rules import (
    Fixed,
    Forbidden,
    MovedMax,
    Rule,
    name_cluster,
    names_in,
    plural,
)
from bckm.feasibility._bound_proofs import lower_rule, size_rules, upper_rule
from bckm.feasibility._link_proofs import story_of
from bckm.feasibility._proof import MustLinkGraph, Names, Proof, links_inside, unique
from bckm.problem.structure import Structure

_COMPARED = 20  # of many like contradictions, those whose chains are compared


def no_cluster_left(rules: Rules, s: Structure) -> Proof | None:
    """No cluster is left to an item: fixed twice, fixed and forbidden, or forbidden alone."""
    k = s.n_clusters
    stuck = np.flatnonzero(np.bincount(s.columns.item(s.forbidden), minlength=s.n_items) == k)
    if not stuck.size:
        return None
    fixed = [r for r in rules.others if isinstance(r, Fixed) and s.item[r.sample] == stuck[0]]
    forbidden = [
        r for r in rules.others if isinstance(r, Forbidden) and s.item[r.sample] == stuck[0]
    ]
    links = MustLinkGraph(rules, s.item.size)
    pairs = [(a, b) for a in fixed[:1] for b in fixed if a.cluster != b.cluster]
    if pairs:
        return _fixed_twice(pairs, links)
    crossed = [(a, b) for a in fixed for b in forbidden if a.cluster == b.cluster]
    if crossed and k > 1:  # where there is one cluster, forbidding it is enough
        return _fixed_and_forbidden(crossed, links)
    return _all_forbidden(forbidden, links)


def _fixed_twice(pairs: list[tuple[Fixed, Fixed]], links: MustLinkGraph) -> Proof:
    # the same sample, fixed twice, needs no chain
    pairs.sort(key=lambda pair: pair[0].sample != pair[1].sample)
    chains = [(links.between(a.sample, b.sample), a, b) for a, b in pairs[:_COMPARED]]
    (chain, joining), a, b = min(chains, key=lambda chain: len(chain[0][1]))
    names = Names((a, b, *joining))
    both = (name_cluster(rule.cluster, rule.clusters) for rule in (a, b))
    where = f"fixed to {' and '.join(both)}"
    if not joining:
        return Proof((a, b), True, f"{names(a.sample)} is {where}", "keep one of the two")
    return Proof(
        (*joining, a, b),
        True,  # without a link of a shortest chain its ends are apart
        f"{names(a.sample, b.sample)} are {where}, but must-links join them ({names.chain(chain)})",
        "fix them to the same cluster or remove one of these links",
    )


def _fixed_and_forbidden(pairs: list[tuple[Fixed, Forbidden]], links: MustLinkGraph) -> Proof:
    pairs.sort(key=lambda pair: pair[0].sample != pair[1].sample)
    chains = [(links.between(a.sample, b.sample), a, b) for a, b in pairs[:_COMPARED]]
    (chain, joining), a, b = min(chains, key=lambda chain: len(chain[0][1]))
    names, where = Names((a, b, *joining)), name_cluster(a.cluster, a.clusters)
    if not joining:
        reason = f"{names(a.sample)} is fixed to {where}, which is forbidden for it"
        return Proof((a, b), True, reason, "remove one of the two")
    return Proof(
        (*joining, a, b),
        True,
        f"{names(a.sample)} is fixed to {where}, which is forbidden for "
        f"{names(b.sample)}, but must-links join them ({names.chain(chain)})",
        "remove one of the two or one of these links",
    )


def _all_forbidden(forbidden: list[Forbidden], links: MustLinkGraph) -> Proof:
    number = {p: sum(r.sample == p for r in forbidden) for p in {r.sample for r in forbidden}}
    first = max(number, key=lambda p: (number[p], -p))
    chosen: dict[int, Forbidden] = {}
    for rule in sorted(forbidden, key=lambda r: r.sample != first):
        chosen.setdefault(rule.cluster, rule)
    samples = sorted({rule.sample for rule in chosen.values()})
    joining = unique(link for p in samples for link in links.between(first, p)[1])
    names = Names((*joining, *chosen.values()))
    together = ", which must-links join" if joining else ""
    return Proof(
        (*joining, *chosen.values()),
        not joining,
        f"every cluster is forbidden for {names(*samples)}{together}",
        "allow one of them" if not joining else "allow one of them or remove one of these links",
    )


def cannot_linked_fixed_together(rules: Rules, s: Structure) -> Proof | None:
    """Samples that must be apart are fixed to one cluster."""
    fixed = [rule for rule in rules.others if isinstance(rule, Fixed)]
    if not fixed or not s.edges.size:
        return None
    fixed_cluster = np.full(s.n_items, -1)
    fixed_cluster[s.item[[rule.sample for rule in fixed]]] = [rule.cluster for rule in fixed]
    a, b = s.edges.T
    clash = np.flatnonzero((fixed_cluster[a] >= 0) & (fixed_cluster[a] == fixed_cluster[b]))
    if not clash.size:
        return None
    edge = (int(a[clash[0]]), int(b[clash[0]]))
    story = story_of(rules, s, [edge])
    links = MustLinkGraph(rules, s.item.size)
    joining: list[Rule] = []
    fixing: list[Fixed] = []
    for item in edge:
        end = story.seen[item]
        here = [rule for rule in fixed if s.item[rule.sample] == item]
        here.sort(key=lambda rule: rule.sample != end)
        chains = [(links.between(end, rule.sample)[1], rule) for rule in here[:_COMPARED]]
        chain, rule = min(chains, key=lambda way: len(way[0]))
        joining += chain
        fixing.append(rule)
    names = Names((*story.rules, *fixing))
    through = " (some through must-links)" if joining else ""
    return Proof(
        (*joining, *story.rules, *fixing),
        True,  # two items, each fixed once: any of these rules frees one of them
        f"{names(*(story.seen[item] for item in edge))} are cannot-linked, but both are fixed to "
        f"{name_cluster(fixed_cluster[edge[0]], fixed[0].clusters)}{through}",
        "fix one of them to another cluster or remove this link",
    )


def too_many_fixed(rules: Rules, s: Structure) -> Proof | None:
    """More samples are fixed to a cluster than it may hold."""
    fixed = _by_sample(rule for rule in rules.others if isinstance(rule, Fixed))
    if not fixed:
        return None
    cluster = np.array([rule.cluster for rule in fixed])
    item = s.item[[rule.sample for rule in fixed]]
    direct = np.bincount(cluster, minlength=s.n_clusters)
    once = np.unique(item, return_index=True)[1]
    with_linked = np.bincount(cluster[once], s.count[item[once]], s.n_clusters)
    for i in np.flatnonzero(with_linked > s.upper).tolist():
        upper = upper_rule(size_rules(rules), i)
        if upper is None:
            continue
        most = int(s.upper[i])
        used = [rule for rule in fixed if rule.cluster == i]
        joining: list[Rule] = []
        number, word = min(int(direct[i]), most + 1), "are fixed to"
        if number <= most:
            here = set(s.item[[rule.sample for rule in used]].tolist())
            joining = links_inside(rules, s.item, here)
            number, word = int(with_linked[i]), "are fixed, or must-linked to samples fixed, to"
        used, where = used[: most + 1], name_cluster(i, used[0].clusters)
        return Proof(
            (*joining, *used, upper),
            False,
            f"{plural(number, 'sample')} {word} {where}, which may hold at most {most}",
            f"raise the size_max of {where} or fix fewer samples to it",
            () if joining else (*(["fixed"] * len(used)), "size"),
        )
    return None


def too_few_allowed(rules: Rules, s: Structure) -> Proof | None:
    """Too few samples may lie in a cluster that must hold some."""
    if not s.forbidden.size:
        return None
    item, cluster = s.columns.split(s.forbidden)
    barred = np.bincount(cluster, s.count[item], s.n_clusters)
    n = s.item.size
    for i in np.flatnonzero(n - barred < s.lower).tolist():
        lower = lower_rule(size_rules(rules), i)
        if lower is None:
            continue
        away: dict[int, Fixed | Forbidden] = {}  # one reason for each item
        for rule in rules.others:
            if not isinstance(rule, Fixed | Forbidden):
                continue
            if (rule.cluster == i) == isinstance(rule, Forbidden):
                away.setdefault(int(s.item[rule.sample]), rule)
        held, used = n, []
        for j in sorted(away, key=lambda j: -int(s.count[j])):
            if held >= s.lower[i]:
                held -= int(s.count[j])
                used.append(j)
        joining = links_inside(rules, s.item, {j for j in used if s.count[j] > 1})
        marks = [(type(away[j]).__name__, away[j].cluster) for j in used]
        where = name_cluster(i, names_in(rules.others))
        return Proof(
            (*joining, *(away[j] for j in used), lower),
            False,
            f"{where} needs at least {plural(int(s.lower[i]), 'sample')}, but only "
            f"{int(n - barred[i])} of {n} can go there: the others are fixed elsewhere or "
            "forbidden",
            f"lower the size_min of {where} (0 allows it to be empty) or allow more samples in it",
            () if joining else (*marks, "size"),
        )
    return None


def too_many_moves(rules: Rules, _: Structure) -> Proof | None:
    """More samples must leave their previous cluster than may."""
    for stay in rules.others:
        if not isinstance(stay, MovedMax):
            continue
        previous = stay.source.values
        forced: dict[int, Rule] = {}
        for rule in rules.others:
            if isinstance(rule, Fixed | Forbidden) and previous[rule.sample] >= 0:
                same = previous[rule.sample] == rule.cluster
                if same == isinstance(rule, Forbidden):
                    forced.setdefault(rule.sample, rule)
        if len(forced) <= stay.value:
            continue
        used = dict(list(forced.items())[: stay.value + 1])
        number = len(forced)
        return Proof(
            (*used.values(), stay),
            True,
            f"{plural(number, 'sample')} must leave their previous cluster, because another is "
            f"fixed or it is forbidden, but at most {stay.value} may",
            f"raise at_most to {number} or drop some of these fixed or forbidden clusters",
        )
    return None


def _by_sample(rules: Iterable[Fixed]) -> list[Fixed]:
    """One rule for each sample."""
    first: dict[int, Fixed] = {}
    for rule in rules:
        first.setdefault(rule.sample, rule)
    return list(first.values())
