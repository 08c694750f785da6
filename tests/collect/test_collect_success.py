"""Metrics that rank models as their success does: intervals over other clips, by loops."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from small_store import SmallStore, convention_facts, write_receipt

from stp.collect.direction import NO_DIRECTION
from stp.collect.sensitivity import SEED, draws
from stp.collect.success import _Drawn, _mean_over_datasets, rankings
from stp.plan.manifest import load_manifest
from stp.score.tables import write_clusters, write_samples

MODELS = ("persistence", "convlstm", "simvpv2", "mau", "tau")
SUCCESS, ERROR = "ssim.range2", "mae.pixel_sum"
COUNTS = np.array([1, 4, 2, 3, 1, 2, 5, 1, 2, 3, 1, 2])
"""Clips of each cluster."""


def test_an_interval_over_clips_is_that_of_drawn_clusters(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    store = SmallStore(tmp_path)
    clusters = [f"video{number:02}" for number in range(len(COUNTS))]
    means: dict[str, list[np.ndarray]] = {SUCCESS: [], ERROR: []}
    for number, model in enumerate(MODELS):
        of = {name: number / 9 + random.normal(0, 0.5, len(COUNTS)) for name in means}
        of[ERROR] = 9 - of[ERROR]  # so both rank alike, about
        values = {name: {"mean": float(np.average(of[name], weights=COUNTS))} for name in means}
        cell = store.add(model, "moving_mnist", values)
        folder, clips = Path(cell["scores"]), np.repeat(clusters, COUNTS).tolist()
        columns = {name: {None: np.repeat(of[name], COUNTS)[:, None]} for name in means}
        names = [f"clip{n}" for n in range(len(clips))]
        write_samples(folder / "sample_scores.parquet", cell["key"], None, names, clips, columns)
        sums = {name: (of[name] * COUNTS).reshape(-1, 1, 1) for name in means}
        write_clusters(folder / "cluster_sums.parquet", clusters, COUNTS, sums)
        write_receipt(folder, "score")
        for name in means:
            means[name].append(of[name])
    facts = {SUCCESS: convention_facts(True, success="graded"), ERROR: convention_facts(False)}
    store.manifest["conventions"] |= facts
    found = rankings(load_manifest(store.write()), resamples=60)
    (one, _) = (each for each in found if each.convention == ERROR)
    again = []
    for drawn in draws(len(COUNTS), 60):
        both = (
            [np.average(model, weights=drawn * COUNTS) for model in means[name]] for name in means
        )
        again.append(-spearmanr(*both).statistic)
    assert len(set(np.round(again, 6))) > 5
    assert one.over_clips == pytest.approx(np.quantile(again, (0.025, 0.975)))
    assert one.over_clips is not None and one.correlation is not None
    assert one.over_clips.low < one.correlation < one.over_clips.high
    assert one.why == "5 models; an interval over models needs 10"


@pytest.mark.parametrize(("models", "runs"), [(12, 1), (12, 5), (9, 5)])
def test_an_interval_over_models_is_that_of_drawn_models_with_all_their_runs(
    tmp_path: Path, models: int, runs: int
) -> None:
    random = np.random.default_rng(0)
    store = SmallStore(tmp_path)
    of: list[np.ndarray] = []  # (runs, 2) of each model
    for model in range(models):
        of.append(model / 9 + random.normal(0, 0.5, 2) + random.normal(0, 0.1, (runs, 2)))
        for seed, (success, quality) in enumerate(of[-1].tolist()):
            values = {SUCCESS: {"mean": success}, ERROR: {"mean": 9 - quality}}
            store.add(f"model{model:02}", "moving_mnist", values, seed=seed)
    facts = {SUCCESS: convention_facts(True, success="graded"), ERROR: convention_facts(False)}
    store.manifest["conventions"] |= facts
    found = rankings(load_manifest(store.write()), resamples=60)
    (one, _) = (each for each in found if each.convention == ERROR)
    assert one.models == models * runs
    if models < 10:
        assert one.over_models is None
        assert f"{models} models; an interval over models needs 10" in one.why
        return
    again = []
    for drawn in np.random.default_rng(SEED).integers(models, size=(60, models)):
        again.append(spearmanr(np.concatenate([of[model] for model in drawn])).statistic)
    assert one.over_models == pytest.approx(np.quantile(again, (0.025, 0.975)))


def test_a_value_near_the_best_one_goes_with_success(tmp_path: Path) -> None:
    store = SmallStore(tmp_path)
    powers = {"convlstm": (0.9, 1.2), "simvpv2": (0.6, 0.9), "tau": (0.2, 2.0)}
    power, spread = "spectral_power.fine_detail", "spread.pooled"
    for model, (success, of) in powers.items():
        values = {SUCCESS: {"mean": success}, power: {"mean": of}, spread: {"mean": of}}
        store.add(model, "moving_mnist", values)
    store.manifest["conventions"] |= {
        SUCCESS: convention_facts(True, success="graded"),
        power: convention_facts(best_at=1.1),  # with values on both sides
        spread: convention_facts(),
    }
    found = {
        one.convention: (one.correlation, one.why)
        for one in rankings(load_manifest(store.write()), resamples=5)
        if one.dataset == "moving_mnist"
    }
    assert found[power][0] == pytest.approx(1.0)
    assert found[spread] == (None, NO_DIRECTION)


def test_datasets_are_pooled_in_the_resamples_that_they_have() -> None:
    nothing = np.array([np.nan, np.nan, np.nan])
    drawn = [
        _Drawn(0.5, np.array([0.5, np.nan, np.nan]), nothing, 3),
        _Drawn(0.1, np.array([0.1, 0.3, np.nan]), "two models", 2),
        _Drawn(None, nothing, nothing, 7, "no success"),
    ]
    found = _mean_over_datasets(drawn)
    assert (found.correlation, found.models, found.over_models) == (0.3, 5, "two models")
    np.testing.assert_allclose(found.over_clips, [0.3, 0.3, np.nan])
    none = _mean_over_datasets(drawn[2:])
    assert (none.correlation, none.models) == (None, 0) and none.why
