"""What the data say of the relations of a model: verdicts, words, files, and that nothing refuted is said to hold."""

import re
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cslearn import CStree, CStreeLearner, random_cstree
from cslearn.cli.text import print_model
from cslearn.estimators import relation_table
from cslearn.graphs import CSIRelation, RelationTable, WeighedRelation
from cslearn.graphs.evidence import evidence_record
from cslearn.scores import Scores


@st.composite
def models_and_data(draw):
    """Draw a model, and data from another one, so that many of its relations are refuted."""
    seed = draw(st.integers(0, 2**32 - 1))
    cards = draw(st.lists(st.integers(1, 3), min_size=2, max_size=6))
    model, truth = (
        random_cstree(cards, 4, method="grow", max_stages=8, concentration=0.5, random_state=[seed, k])
        for k in range(2)
    )
    return model, truth.sample(draw(st.integers(1, 300)), random_state=seed)


def slow_factor(relation, scores):
    """Return the log Bayes factor of a relation by scoring every context by itself."""
    v, table = relation.target, scores.table
    states = dict(zip(table.variables, table.states, strict=True))
    splits = [sum(scores.log_z(v, relation.context | {u: x}) for x in states[u]) for u in relation.independent_of]
    return scores.log_z(v, relation.context) - max(splits)


@given(problem=models_and_data())
def test_the_evidence_is_that_of_scores_of_single_contexts(problem):
    tree, data = problem
    scores = Scores(tree.encode(data), ess=3.0)
    for row in relation_table(tree, scores):
        alone = CSIRelation(row.relation.target, row.against, row.relation.context)
        for relation in (row.relation, alone):
            assert row.log_bayes_factor == pytest.approx(slow_factor(relation, scores), abs=1e-9)
        assert row.n_rows == scores.n_rows(row.relation.context)


INDEPENDENCE = re.compile(r"does not depend|do not depend|independent|(?<!\?)(?<!not )_\|\|_|vanish")


def refuted(table):
    return [row for row in table if row.log_bayes_factor < 0]


@given(problem=models_and_data())
def test_no_relation_that_the_data_speak_against_is_phrased_as_independence(problem):
    tree, data = problem
    table = relation_table(tree, data)
    learned = CStree(
        tree.order,
        tree.stagings,
        tree.parameters,
        states=tree.states,
        learning={"evidence": evidence_record(tree, table)},
    )
    assert all(row.verdict == "supported" for row in table if not row.log_bayes_factor < log(3))
    for row in refuted(table):
        assert not INDEPENDENCE.search(row.in_words())
        assert not INDEPENDENCE.search(row.in_symbols())
    # Tables, with and without relations joined, from data and from the file.
    for shown in (
        table,
        table.merged(tree.states),
        learned.relation_table(),
        learned.relation_table().merged(tree.states),
    ):
        for row, line in zip(shown, str(shown).splitlines()[1:], strict=True):
            assert (INDEPENDENCE.search(line) is None) == (row.verdict != "supported")
        for row, words in zip(shown, shown.to_frame()["in_words"], strict=True):
            assert (INDEPENDENCE.search(words) is None) == (row.verdict != "supported")
        for row, line in zip(shown, shown.to_latex().splitlines()[4:-2], strict=True):
            assert (r" \perp\!\!\!\perp " in line) == (row.verdict == "supported")


@given(problem=models_and_data())
def test_what_show_prints_says_only_what_is_supported(problem):
    import contextlib
    import io

    tree, data = problem
    table = relation_table(tree, data)
    learned = CStree(
        tree.order,
        tree.stagings,
        tree.parameters,
        states=tree.states,
        learning={"evidence": evidence_record(tree, table)},
    )
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_model(learned, everything=True)
    said = [line for line in out.getvalue().splitlines() if "does not depend" in line]
    supported = [row.in_words() for row in table.merged(tree.states).with_verdict("supported")]
    assert len(said) == len(supported)
    assert all(any(line.strip().startswith(words) for words in supported) for line in said)


def test_the_control_a_refuted_relation_is_found_in_words_of_the_relation_itself():
    relation = CSIRelation("a", "b", {"s": 1})
    assert INDEPENDENCE.search(relation.in_words())
    assert INDEPENDENCE.search(str(relation))
    assert INDEPENDENCE.search(WeighedRelation(relation, 5.0).in_symbols())


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(log(3), "supported"), (1.0, "undecided"), (-1.0, "undecided"), (-1.2, "ignored"), (None, None)],
)
def test_verdicts(factor, verdict):
    assert WeighedRelation(CSIRelation("a", "b"), factor).verdict == verdict


def test_a_model_file_keeps_the_evidence(tmp_path):
    data = random_cstree(6, 4, method="grow", max_stages=12, random_state=5).sample(500, random_state=0)
    learner = CStreeLearner(beta=2, random_state=0).fit(data)
    assert len(learner.relations_)
    learner.cstree_.save(tmp_path / "m.json")
    again = CStree.load(tmp_path / "m.json").relation_table()
    assert [row.relation for row in again] == [row.relation for row in learner.relations_]
    assert [row.verdict for row in again] == [row.verdict for row in learner.relations_]
    assert [row.against for row in again] == [row.against for row in learner.relations_]
    assert np.allclose(
        [row.log_bayes_factor for row in again], [row.log_bayes_factor for row in learner.relations_], atol=1e-3
    )
    # Without a record, or with one of another structure, nothing is claimed.
    bare = learner.cstree_.with_parameters(None)
    assert all(row.verdict is None for row in bare.relation_table())


def test_findings_that_differ_in_irrelevant_states_are_one():
    rows = [WeighedRelation(CSIRelation("v", "b", {"Class": "N", "A31": x}), 2.0, 10.0, 0.5, "b") for x in (0, 1, 2)]
    other = WeighedRelation(CSIRelation("v", "b", {"Class": "T", "A31": 0}), 1.5, 7.0, None, "b")
    states = {"Class": ("N", "T"), "A31": (0, 1, 2)}
    one, two = RelationTable([*rows, other]).merged(states)
    assert one.in_words() == "v does not depend on b once Class is N, whatever A31 is"
    assert (one.log_bayes_factor, one.n_rows, one.probability) == (6.0, 30.0, None)
    assert two == other
    # A state that the data speak against keeps the others apart.
    against = WeighedRelation(rows[0].relation, -9.0, 10.0, None, "b")
    assert len(RelationTable([against, *rows[1:]]).merged(states)) == 3


@given(problem=models_and_data())
def test_joined_findings_stand_for_the_same_outcomes(problem):
    tree, data = problem
    table = relation_table(tree, data)
    joined = table.merged(tree.states)
    assert sum(row.n_rows for row in joined) == pytest.approx(sum(row.n_rows for row in table))
    assert sum(row.log_bayes_factor for row in joined) == pytest.approx(sum(row.log_bayes_factor for row in table))
    for row in table:
        homes = [
            home
            for home in joined
            if home.relation.target == row.relation.target
            and set(home.relation.right) == set(row.relation.right)
            and home.verdict == row.verdict
            and home.relation.context.items() <= row.relation.context.items()
            and set(home.relation.context) | set(home.relation.given) == set(row.relation.context)
        ]
        assert len(homes) == 1


def test_stages_may_be_counted_a_few_at_a_time(monkeypatch):
    truth = random_cstree([2, 3, 2, 4, 2], random_state=1)
    data = truth.sample_table(500, random_state=1)
    whole = relation_table(truth, data)
    monkeypatch.setattr("cslearn.estimators.evidence.AT_ONCE", 1)
    assert list(relation_table(truth, data)) == list(whole) != []
