"""Rows with missing cells where rows are counted: expected counts, sums over gaps, and cells that are no gaps."""

from __future__ import annotations

import json
import re
from itertools import product
from math import fsum, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cslearn import Chains, CStree, CStreeClassifier, CStreeLearner, random_cstree
from cslearn.data import as_table
from cslearn.datasets import chickenpox_model
from cslearn.errors import DataWarning, EstimateWarning, InputError
from cslearn.estimators import incomplete, relation_table
from cslearn.inference import compiled, effect
from cslearn.inference.completed import completed_table, rows_for_model
from cslearn.inference.gaps import complete_codes, summable
from cslearn.report import report_html


def _with_gaps(tree: CStree, n: int, seed: int, share: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = tree.sample_table(n, random_state=seed).codes.astype(np.int32)
    codes[rng.random(codes.shape) < share] = -1
    return codes


def _completions(tree: CStree, row: np.ndarray) -> list[tuple[list[int], float]]:
    """Every completion of a row with its probability, by listing them."""
    cards = [len(tree.states[v]) for v in tree.variables]
    outcomes = product(*(range(d) if x < 0 else [x] for x, d in zip(row, cards, strict=True)))
    return [(list(o), float(np.exp(tree.log_prob_of_codes(np.array([o]))[0]))) for o in outcomes]


def _expected_counts(tree: CStree, codes: np.ndarray) -> dict[str, np.ndarray]:
    """The expected counts of all stages, by listing the completions of every row."""
    found = {v: np.zeros((len(tree.stagings[v]), len(tree.states[v]))) for v in tree.variables}
    for row in codes:
        listed = _completions(tree, row)
        total = fsum(p for _, p in listed)
        for outcome, p in listed:
            for column, v in enumerate(tree.variables):
                (stage,) = [
                    s for s, pairs in enumerate(tree.coded_contexts[v]) if all(outcome[u] == x for u, x in pairs)
                ]
                found[v][stage, outcome[column]] += p / total
    return found


def _frame(tree: CStree, codes: np.ndarray) -> pd.DataFrame:
    states = [tree.states[v] for v in tree.variables]
    return pd.DataFrame(
        {v: [None if x < 0 else states[j][x] for x in codes[:, j]] for j, v in enumerate(tree.variables)}, dtype=object
    )


def test_counts_of_completed_rows_are_the_expected_counts() -> None:
    tree = random_cstree([2, 3, 2, 2], random_state=4)
    codes = _with_gaps(tree, 60, 4)
    table = completed_table(tree, codes, copies=2000)
    expected = _expected_counts(tree, codes)
    counted = tree.count_stages(table)
    plain = tree.count_stages(rows_for_model(tree, _frame(tree, codes), missing="drop").table)
    for v in tree.variables:
        assert np.abs(counted[v] - expected[v]).max() < 0.6  # about four standard errors: sqrt(60 / 4 / 2000) each
    # The control: complete rows alone are far off.
    assert max(np.abs(plain[v] - expected[v]).max() for v in tree.variables) > 5


@given(st.integers(0, 10_000), st.booleans())
def test_completed_rows_keep_what_is_known_and_weigh_what_the_rows_weigh(seed: int, weighted: bool) -> None:
    tree = random_cstree([2, 3, 2], random_state=seed)
    codes = _with_gaps(tree, 20, seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, 20) if weighted else None
    table = completed_table(tree, codes, weights, copies=3)
    total = 20 if weights is None else weights.sum()
    assert table.total_weight == pytest.approx(total)
    for counts in tree.count_stages(table).values():
        assert counts.sum() == pytest.approx(total)
    known = {tuple(row) for row in codes[(codes >= 0).all(axis=1)]}
    assert known <= {tuple(row) for row in table.codes}
    gappy = codes[(codes < 0).any(axis=1)]
    copies = table.codes[len(codes) - len(gappy) :].reshape(len(gappy), 3, -1)
    assert all(((row < 0) | (copy == row)).all() for row, of_row in zip(gappy, copies, strict=True) for copy in of_row)


def test_rows_are_read_as_the_model_was_learned_unless_it_is_said_otherwise() -> None:
    tree = random_cstree([2, 2, 2], random_state=0)
    data = _frame(tree, _with_gaps(tree, 200, 1))
    with pytest.raises(InputError, match="Missing cells"):
        rows_for_model(tree, data)
    dropped = rows_for_model(tree, data, missing="drop")
    gappy = int(data.isna().any(axis=1).sum())
    assert (dropped.table.n, dropped.n_gappy, dropped.expected) == (200 - gappy, gappy, False)
    assert dropped.note == f"{gappy} of 200 rows have missing cells and are left out."
    for policy in ("drop", "em"):
        learned = CStreeLearner(missing=policy, search=Chains(n_iter=50)).fit(data).cstree_
        rows = rows_for_model(learned, data)
        assert (rows.policy, rows.n_gappy) == (policy, gappy)
        assert rows_for_model(learned, rows) is rows
    assert rows.expected
    assert "expected counts" in rows.note
    assert rows.table.total_weight == pytest.approx(200)


def test_a_report_of_a_table_with_gaps_counts_all_rows_and_says_so() -> None:
    tree = random_cstree([2, 2, 3, 2], random_state=3)
    data = _frame(tree, _with_gaps(tree, 300, 3))
    learned = CStreeLearner(missing="em", search=Chains(n_iter=50)).fit(data).cstree_
    page = report_html(learned, data)
    document = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)[1])
    assert document["rows"] == 300
    assert document["gaps"]["expected"]
    for variable in document["variables"]:
        assert fsum(fsum(stage["n"]) for stage in variable["stages"]) == pytest.approx(300, abs=0.01)
    # Modelled probabilities are those of the counts beside them, but for the prior and the noise of the draws.
    for variable in document["variables"]:
        for stage in variable["stages"]:
            n = fsum(stage["n"])
            if n > 50:
                assert np.abs(np.array(stage["n"]) / n - stage["p"]).max() < 0.1


def test_the_evidence_that_a_file_keeps_is_that_of_its_data() -> None:
    tree = chickenpox_model()
    data = _frame(tree, _with_gaps(tree, 2000, 7, share=0.1))
    learner = CStreeLearner(missing="em", search=Chains(n_iter=50)).fit(data)
    kept, again = learner.cstree_.relation_table(), relation_table(learner.cstree_, data)
    assert len(kept)
    assert [row.relation for row in kept] == [row.relation for row in again]
    for one, other in zip(kept, again, strict=True):
        assert one.log_bayes_factor == pytest.approx(other.log_bayes_factor, abs=1e-3)
        assert one.n_rows == pytest.approx(other.n_rows)
    assert learner.cstree_.learning["rows_with_gaps"] == int(data.isna().any(axis=1).sum())


def test_effects_count_known_rows_as_observed_and_are_less_sure_than_with_complete_ones() -> None:
    stagings = {"a": [{}], "b": [{"a": 0}, {"a": 1}]}
    parameters = {"a": [[0.5, 0.5]], "b": [[0.8, 0.2], [0.3, 0.7]]}
    tree = CStree.from_contexts(stagings, states={"a": (0, 1), "b": (0, 1)}).with_parameters(parameters)
    whole = tree.sample(2000, random_state=0).astype(object)
    holes = whole.copy()
    holes.loc[:1499, "b"] = None
    full = effect(tree, "b", of="a", data=whole).rows[1]
    rows = rows_for_model(tree, holes, missing="em")
    half = effect(tree, "b", of="a", data=rows)
    assert half.rows[1].n == (holes[holes["b"].notna()]["a"] == 1).sum()
    known = holes[holes["b"].notna() & (holes["a"] == 1)]
    assert half.rows[1].observed == pytest.approx((known["b"] == 1).mean())
    ratio = (half.rows[1].upper - half.rows[1].lower) / (full.upper - full.lower)
    assert 1.6 < ratio < 2.5  # a quarter of the rows: twice as wide
    assert any("1,500 of 2,000 rows have missing cells" in note for note in half.notes)


def test_rows_with_gaps_too_many_to_sum_over_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = chickenpox_model()
    data = _frame(tree, _with_gaps(tree, 1000, 1, share=0.2))
    exact = CStreeLearner(missing="em", search=Chains(n_iter=50), random_state=0).fit(data)

    def few_gaps(tree: CStree, codes: np.ndarray) -> np.ndarray:
        return (codes < 0).sum(axis=1) < 2

    monkeypatch.setattr(incomplete, "summable", few_gaps)
    number = f"{(data.isna().sum(axis=1) > 1).sum()} of 1,000 rows miss so many cells"
    with pytest.warns(EstimateWarning, match=number):
        drawn = CStreeLearner(missing="em", search=Chains(n_iter=50), random_state=0).fit(data)
    assert drawn.em_.objective == []
    assert drawn.cstree_.stagings == exact.cstree_.stagings
    for v in tree.variables:
        assert np.abs(drawn.cstree_.parameters[v] - exact.cstree_.parameters[v]).max() < 0.05


def test_rows_that_can_be_summed_over_are_those_with_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = chickenpox_model()
    codes = np.array([[0, -1, 1, 0], [-1, -1, -1, -1], [0, 0, 0, 0], [-1, -1, -1, -1], [0, 0, 0, -1]], dtype=np.int32)
    assert summable(tree, codes).all()
    monkeypatch.setattr(compiled, "ROW_TABLE", 8)  # all four variables together have 16 outcomes
    assert summable(tree, codes).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("seed", range(5))
def test_draws_of_missing_cells_have_the_distribution_that_listing_gives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_cstree([2, 3, 2, 2, 3], random_state=seed)
    copies = 4000
    codes = _with_gaps(tree, 4, seed, share=0.6)
    codes[0] = -1
    filled = complete_codes(tree, np.repeat(codes, copies, axis=0), "draw", rng).reshape(len(codes), copies, -1)
    for row, draws in zip(codes, filled, strict=True):
        listed = _completions(tree, row)
        total = fsum(p for _, p in listed)
        for outcome, p in listed:
            share = p / total
            found = (draws == outcome).all(axis=1).mean()
            assert abs(found - share) < 5 * np.sqrt(share * (1 - share) / copies) + 3 / copies


def test_draws_by_the_kernel_and_by_listing_have_the_same_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = random_cstree([2] * 6, random_state=1)
    codes = np.repeat(_with_gaps(tree, 3, 1, share=0.5), 5000, axis=0)
    quick = complete_codes(tree, codes, "draw", 0)
    monkeypatch.setattr(compiled, "ROW_TABLE", 0)  # no row fits: its outcomes are listed
    slow = complete_codes(tree, codes, "draw", 0)
    assert np.abs(quick.reshape(3, 5000, -1).mean(axis=1) - slow.reshape(3, 5000, -1).mean(axis=1)).max() < 0.05
    assert not (quick == slow).all()  # the control: these are two ways


# ---------------------------------------------------------------- cells that are a state
def test_missing_cells_may_be_a_state_of_some_columns_only() -> None:
    data = pd.DataFrame({"cause": ["x", None, "y", None], "grade": [1, 2, None, 2]})
    table = as_table(data, missing={"cause": "state", None: "drop"})
    assert table.states == (("x", "missing"), (1, 2))
    assert table.codes.tolist() == [[0, 0], [1, 1], [1, 1]]
    with pytest.raises(InputError, match=r"'grade' \(1 of 4\)") as caught:
        as_table(data, missing={"cause": "state"})
    assert "'cause'" not in str(caught.value)
    with pytest.raises(InputError, match="'clause', which is no column"):
        as_table(data, missing={"clause": "state"})
    with pytest.raises(InputError, match='missing is .* or a mapping of columns to "state"'):
        as_table(data, missing={"cause": "drop"})


def test_em_learns_a_state_of_some_columns_and_sums_over_the_others() -> None:
    rng = np.random.default_rng(0)
    death = rng.integers(0, 2, 300)
    frame = pd.DataFrame(
        {
            "death": death,
            "cause": np.where(death == 1, rng.choice(["heart", "lung"], 300), None),
            "smoker": np.where(rng.random(300) < 0.2, None, rng.choice(["no", "yes"], 300)),
        }
    )
    learner = CStreeLearner(missing={"cause": "state", None: "em"}, search=Chains(n_iter=50)).fit(frame)
    tree = learner.cstree_
    assert tree.states["cause"] == ("heart", "lung", "missing")
    assert tree.states["smoker"] == ("no", "yes")
    assert tree.learning["settings"]["missing"] == "em"
    assert tree.learning["settings"]["missing_is_a_state_of"] == ["cause"]
    assert tree.query("death", {"cause": "missing"})[0] > 0.95
    rows = rows_for_model(tree, frame)
    assert rows.n_gappy == int(frame["smoker"].isna().sum())  # cells of cause are none
    alone = CStreeClassifier(CStreeLearner(missing={"cause": "state", None: "drop"}, search=Chains(n_iter=50)))
    assert alone.fit(frame.drop(columns="death"), frame["death"]).score(frame.drop(columns="death"), death) == 1.0


@pytest.mark.parametrize("policy", ["em", "drop"])
def test_cells_that_are_missing_because_of_another_column_are_noted(policy: str) -> None:
    frame = pd.DataFrame({"death": [0, 1, 1, 0] * 30, "cause": [None, "a", "b", None] * 30, "x": ["u", "v", "v"] * 40})
    with pytest.warns(DataWarning) as caught:
        CStreeLearner(missing=policy, search=Chains(n_iter=20)).fit(frame)
    told = [str(w.message) for w in caught if "no accident" in str(w.message)]
    assert len(told) == 1
    assert "missing in 'cause' exactly where death is 0." in told[0]
    assert '(missing={"cause": "state"})' in told[0]


def test_cells_that_are_missing_in_some_rows_of_a_state_only_are_not_noted(recwarn: pytest.WarningsRecorder) -> None:
    frame = pd.DataFrame({"death": [0, 1, 1, 0] * 30, "cause": [None, "a", "b", "a"] * 30, "x": ["u", "v", "v"] * 40})
    CStreeLearner(missing="em", search=Chains(n_iter=20)).fit(frame)
    assert not [w for w in recwarn if "no accident" in str(w.message)]


# ---------------------------------------------------------------- the command line
def test_score_sums_over_gaps(run, tmp_path) -> None:
    tree = random_cstree([2, 3, 2], random_state=5)
    tree.save(tmp_path / "m.json")
    codes = _with_gaps(tree, 30, 5)
    _frame(tree, codes).to_csv(tmp_path / "d.csv", index=False)
    code, out, err = run("score", tmp_path / "m.json", tmp_path / "d.csv", "--missing", "em", "--json")
    assert code == 0
    assert err == "note: Missing cells are summed out: a row has the probability of what is known of it.\n"
    expected = [log(fsum(p for _, p in _completions(tree, row))) for row in codes]
    document = json.loads(out)
    assert document["rows"] == 30
    assert document["mean_log_prob"] == pytest.approx(np.mean(expected))
    assert document["bic"] is None


def test_missing_is_given_for_all_columns_and_for_single_ones(run, tmp_path) -> None:
    rows = "".join(
        f"{d},{'' if d == 0 else 'heart'},{'' if i % 7 == 0 else i % 2}\n" for i, d in enumerate([0, 1] * 40)
    )
    (tmp_path / "d.csv").write_text("death,cause,x\n" + rows)
    quick = "-o", tmp_path / "m.json", "--n-iter", "50"
    code, _, err = run("fit", tmp_path / "d.csv", *quick, "--missing", "em", "--missing", "cause=state")
    assert (code, "no accident" in err) == (0, False)
    assert CStree.load(tmp_path / "m.json").states["cause"] == ("heart", "missing")
    code, _, err = run("fit", tmp_path / "d.csv", *quick, "--missing", "em")
    assert "missing in 'cause' exactly where death is 0" in err
    assert "(--missing cause=state)" in err
    for given_, told in (
        (["--missing", "EM"], "--missing is error, drop, state or em, or COLUMN=state, not 'EM'"),
        (["--missing", "em", "--missing", "drop"], "given as em and as drop"),
        (["--missing", "cause=drop"], "--missing cause=drop"),
        (["--missing", "clause=state"], "'clause', which is no column"),
    ):
        code, _, err = run("fit", tmp_path / "d.csv", *quick, *given_)
        assert code == 2
        assert told in err
