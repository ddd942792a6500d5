"""The metrics against trec_eval itself, and by hand where trec_eval has no say."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arbor.evaluation import metrics

DOCUMENTS = [f"d{number}" for number in range(14)]
# trec_eval keeps scores in single precision; few distinct values make ties common.
SCORES = st.one_of(st.integers(-2, 2).map(float), st.floats(-10, 10, width=32))
RUNS = st.dictionaries(st.sampled_from(DOCUMENTS), SCORES, min_size=1)
QRELS = st.dictionaries(st.sampled_from([*DOCUMENTS, "unfound"]), st.integers(0, 4), min_size=1)


def ranking_of(scores: dict[str, float]) -> list[str]:
    """Documents by falling score, equal ones by falling id: trec_eval 9, form_res_rels.c, comp_sim_docno."""
    return sorted(scores, key=lambda document: (scores[document], document), reverse=True)


@given(RUNS, QRELS, st.integers(1, 16))
def test_agrees_with_trec_eval(scores: dict[str, float], judgements: dict[str, int], k: int) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")
    names = {f"ndcg_cut.{k}", f"recall.{k}", "map", "recip_rank"}
    oracle = pytrec_eval.RelevanceEvaluator({"q": judgements}, names).evaluate({"q": scores})["q"]
    ranking = ranking_of(scores)
    assert metrics.ndcg(ranking, judgements, k) == pytest.approx(oracle[f"ndcg_cut_{k}"], abs=1e-9)
    assert metrics.recall(ranking, judgements, k) == pytest.approx(oracle[f"recall_{k}"], abs=1e-9)
    assert metrics.average_precision(ranking, judgements) == pytest.approx(oracle["map"], abs=1e-9)
    assert metrics.reciprocal_rank(ranking, judgements) == pytest.approx(oracle["recip_rank"], abs=1e-9)


@given(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), RUNS, min_size=1), st.data())
def test_means_agree_with_trec_eval_where_every_query_is_answered(
    runs: dict[str, dict[str, float]], data: st.DataObject
) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval-terrier is not installed")
    qrels = {query: data.draw(QRELS) for query in runs}
    names = {"ndcg_cut.10", "map", "recall.100"}
    oracle = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(runs)
    ours = metrics.evaluate({query: ranking_of(scores) for query, scores in runs.items()}, qrels)
    for our_name, name in (("ndcg@10", "ndcg_cut_10"), ("map", "map"), ("recall@100", "recall_100")):
        expected = sum(values[name] for values in oracle.values()) / len(oracle)
        assert ours[our_name] == pytest.approx(expected, abs=1e-9)


@given(
    st.permutations(DOCUMENTS),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-3, 4)),
    st.integers(1, 16),
)
def test_all_lie_between_nothing_and_one(ranking: list[str], judgements: dict[str, int], k: int) -> None:
    values = [metric(ranking, judgements) for metric in metrics.STANDARD_METRICS.values()]
    values += [metrics.ndcg(ranking, judgements, k), metrics.recall(ranking, judgements, k)]
    assert all(0.0 <= value <= 1.0 + 1e-12 for value in values)


@given(st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 4)), st.integers(1, 16))
def test_the_ideal_ranking_has_all_the_gain(judgements: dict[str, int], k: int) -> None:
    ideal = sorted(judgements, key=lambda document: -judgements[document])
    expected = 1.0 if any(judgements.values()) else 0.0
    assert metrics.ndcg(ideal, judgements, k) == pytest.approx(expected)
    assert metrics.average_precision(ideal, judgements) == pytest.approx(expected)
    assert metrics.reciprocal_rank(ideal, judgements) == expected


def test_ndcg_by_hand() -> None:
    judgements = {"a": 3, "b": 2, "c": 1}
    gained = 2 / math.log2(2) + 3 / math.log2(4)
    best = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4)
    assert metrics.ndcg(["b", "x", "a"], judgements, 10) == pytest.approx(gained / best)
    assert metrics.ndcg(["b", "x", "a"], judgements, 1) == pytest.approx(2 / 3)


def test_reciprocal_rank_stops_at_its_depth() -> None:
    ranking = [f"x{number}" for number in range(10)] + ["right"]
    assert metrics.reciprocal_rank(ranking, {"right": 1}) == pytest.approx(1 / 11)
    assert metrics.reciprocal_rank(ranking, {"right": 1}, 10) == 0.0


def test_a_document_named_twice_counts_once() -> None:
    ranking, judgements = ["x", "x", "right", "right"], {"right": 1, "other": 1}
    assert metrics.reciprocal_rank(ranking, judgements) == pytest.approx(1 / 2)
    assert metrics.average_precision(ranking, judgements) == pytest.approx(1 / 4)
    assert metrics.recall(ranking, judgements, 10) == pytest.approx(1 / 2)


def test_grades_below_zero_are_not_relevant_and_take_nothing_away() -> None:
    assert metrics.ndcg(["bad", "good"], {"bad": -2, "good": 1}, 10) == pytest.approx(1 / math.log2(3))
    assert metrics.ndcg(["bad"], {"bad": -1}, 10) == 0.0


def test_a_query_that_the_run_leaves_out_counts_as_a_failure() -> None:
    qrels = {"asked": {"a": 1}, "forgotten": {"a": 1}}
    assert metrics.evaluate({"asked": ["a"], "unjudged": ["a"]}, qrels) == {
        "ndcg@10": 0.5,
        "map": 0.5,
        "recall@100": 0.5,
        "mrr@10": 0.5,
    }
    assert set(metrics.evaluate({}, {}).values()) == {0.0}


@given(st.lists(st.floats(0, 1)))
def test_a_mean_does_not_depend_on_the_order(values: list[float]) -> None:
    assert metrics.mean(values) == metrics.mean(reversed(values)) == metrics.mean(sorted(values))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1), st.floats(0, 1))
def test_a_percentile_is_a_measured_value_with_that_share_at_or_below(
    values: list[float], share: float
) -> None:
    found = metrics.percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) <= share * len(values) + 1e-9


def test_percentiles_of_little() -> None:
    assert metrics.percentile([], 0.5) == 0.0
    assert metrics.percentile([3.0], 0.0) == metrics.percentile([3.0], 1.0) == 3.0
    assert metrics.percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.0
    assert metrics.percentile(map(float, range(1, 101)), 0.95) == 95.0
