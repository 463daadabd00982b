"""The plan of a fit: what it says is what a fit does, and what the estimate tells."""

import json

import pytest

from cslearn import Chains, CStreeLearner, random_cstree
from cslearn.estimators import growing
from cslearn.estimators.cost import estimate_cost
from cslearn.estimators.plan import Plan, Search, engine_of
from cslearn.priors import UniformPrior

FEW, SOME, MANY = 4, 13, 20


def table_of(p):
    return random_cstree(p, random_state=p).sample_table(300, random_state=0)


def fitted(table, **settings):
    return CStreeLearner(max_memory=2**31, random_state=0, **settings).fit(table)


@pytest.mark.parametrize(
    ("p", "settings", "engine", "way"),
    [
        (FEW, {}, "grown", "exact"),
        (FEW, {"beta": 2}, "subsets", "exact"),
        (FEW, {"beta": 3}, "subsets", "exact"),
        (FEW, {"prior": "uniform"}, "subsets", "exact"),
        (FEW, {"search": "greedy"}, "grown", "greedy"),
        (FEW, {"beta": 2, "search": "greedy"}, "subsets", "greedy"),
        (FEW, {"beta": 2, "search": Chains(max_iter=3000)}, "subsets", "chains"),
        (SOME, {"search": Chains(max_iter=30)}, "grown", "chains"),
        (SOME, {"search": Chains(n_iter=20, n_chains=3)}, "grown", "chains"),
        (MANY, {"beta": 2, "search": Chains(n_iter=40)}, "pairs", "chains"),
        (MANY, {"beta": 2, "search": "greedy"}, "pairs", "greedy"),
    ],
)
def test_a_fit_does_what_its_plan_says(p, settings, engine, way, monkeypatch):
    table, asked = table_of(p), []
    plan, answer = Plan.of(table.cards, max_memory=2**31, **settings), Plan.search

    def search_and_keep(self, scores, order=None):
        asked.append(order)
        return answer(self, scores, order)

    monkeypatch.setattr(Plan, "search", search_and_keep)
    learner = fitted(table, **settings)
    scores = learner.posterior_.scores
    assert (plan.trees is not None) == scores.grown
    assert learner.candidates_.method == plan.selection["candidates"] or plan.selection["candidates"] == "auto"
    search = plan.search(scores, asked[-1])
    assert (search.engine, search.way) == (engine, way) == (engine_of(scores), way)
    assert (learner.posterior_.exact is not None) == (way == "exact")
    if way != "exact":
        chains = learner.posterior_.chains
        assert len(chains) == (1 if way == "greedy" else search.n_chains)
        assert all(chain.n_iter <= search.most_moves(p) for chain in chains)
        if not search.until_they_agree and way == "chains":
            assert {chain.n_iter for chain in chains} == {search.most_moves(p)}


@pytest.mark.parametrize(
    ("p", "settings"),
    [(FEW, {}), (FEW, {"beta": 2}), (SOME, {"search": Chains(n_iter=20)}), (MANY, {"beta": 2, "search": "greedy"})],
)
def test_the_estimate_is_of_that_plan(p, settings):
    table = table_of(p)
    cost = estimate_cost(table, **settings)
    assert cost.plan == Plan.of(table.cards, **settings)
    search = cost.search
    assert isinstance(search, Search)
    scores = fitted(table, **settings).posterior_.scores
    assert search[:2] == cost.plan.search(scores, None)[:2]
    document = json.loads(json.dumps(cost.document()))
    assert document["engine"] == search.engine
    assert document["search"] == {"chains": "mcmc"}.get(search.way, search.way)


def test_settings_decide_before_anything_is_counted():
    cards = [2, 3, 2, 2]
    assert Plan.of(cards).beta == 24 and Plan.of(cards, beta=2).beta == 2
    assert Plan.of(cards, prior=UniformPrior()).beta == 2, "no trees are grown for a prior that weighs stagings"
    assert Plan.of(cards).selection["candidates"] == "all"
    assert Plan.of(cards, beta=2).selection["candidates"] == "auto"
    assert Plan.of(cards, ess=1.0, prior="tree").searches == 1
    assert Plan.of(cards, ess=1.0).searches == 2
    assert Plan.of(cards, search="greedy").is_greedy(4) and not Plan.of(cards).is_greedy(growing.MANY)
    more = growing.MANY + 1
    assert Plan.of(cards).is_greedy(more) and not Plan.of(cards, beta=2).is_greedy(more)
