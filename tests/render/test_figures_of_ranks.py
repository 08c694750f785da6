"""Figures of all cases: ranks, overview, critical differences, speed."""

import math
from pathlib import Path

import numpy as np
import pytest
from figure_store import FigureStore, line_of, near, points

from stp.render.figures import critical_difference, overview, ranks, speed
from stp.render.figures.friedman import compare, find_similar_groups
from stp.render.figures.friedman import critical_difference as nemenyi
from stp.render.figures.kinds import render
from stp.render.figures.ranking import rank
from stp.render.figures.reading import Scores, read

UP, DOWN = {"higher_is_better": True}, {"higher_is_better": False}


def store_of(
    folder: Path, values: dict[str, dict[str, list[float]]], seconds: dict[str, float] | None = None
) -> FigureStore:
    """Values of SSIM and RMSE by dataset and model; models in capitals are trained."""
    store = FigureStore(folder)
    for dataset, models in values.items():
        store.column(dataset, "SSIM", "ssim.range2", **UP)
        store.column(dataset, "RMSE", "rmse.per_frame", **DOWN)
        for model, (ssim, rmse) in models.items():
            store.scored(
                model,
                dataset,
                {"ssim.range2": ssim, "rmse.per_frame": rmse},
                seed=0 if model.isupper() else None,
                seconds=(seconds or {}).get(model, 10.0),
            )
    return store


THREE = {
    "kth": {"A": [0.9, 1.0], "B": [0.8, 1.0], "c": [0.7, 3.0]},
    "enso": {"A": [0.5, 2.0], "B": [0.6, 1.0], "c": [0.1, 9.0]},
}


def scores_of(folder: Path, values: dict[str, dict[str, list[float]]], **more: object) -> Scores:
    return read(*store_of(folder, values, **more).results())  # type: ignore[arg-type]


# Ranks


def test_ranks_follow_the_direction_and_share_ties(tmp_path: Path) -> None:
    found = rank(scores_of(tmp_path, THREE))
    assert found.models == ["B", "A", "c"]
    assert found.places == [
        ("kth", "SSIM"), ("kth", "RMSE"), ("enso", "SSIM"), ("enso", "RMSE"),
    ]  # fmt: skip
    assert found.ranks.tolist() == [[2, 1.5, 1, 1], [1, 1.5, 2, 2], [3, 3, 3, 3]]
    assert found.means.tolist() == [(1.75 + 1) / 2, (1.25 + 2) / 2, 3]


def test_a_dataset_with_more_columns_counts_no_more(tmp_path: Path) -> None:
    store = store_of(tmp_path, {"kth": {"A": [0.9, 1.0], "B": [0.8, 2.0]}})
    store.column("enso", "SSIM", "ssim.range2", **UP)
    for model, value in (("A", 0.1), ("B", 0.2)):
        store.scored(model, "enso", {"ssim.range2": value}, seed=0)
    assert rank(read(*store.results())).means.tolist() == [1.5, 1.5]


def test_a_metric_that_is_best_at_a_value_is_ranked_by_the_distance(tmp_path: Path) -> None:
    store = FigureStore(tmp_path)
    store.column("kth", "POWER", "spectral_power.fine_detail", best_at=1.0)
    store.column("kth", "SPREAD", "spread.pooled")  # neither is better
    for model, value in (("low", 0.7), ("right", 1.1), ("high", 1.5)):
        store.scored(model, "kth", {"spectral_power.fine_detail": value, "spread.pooled": value})
    found = rank(read(*store.results()))
    assert found.models == ["right", "low", "high"]
    assert len(found.left_out) == 1 and "SPREAD" in found.left_out[0]


def test_the_heat_map_shows_every_rank_and_hatches_what_is_missing(tmp_path: Path) -> None:
    store = store_of(tmp_path, THREE)
    store.scored("D", "kth", {"ssim.range2": 0.1, "rmse.per_frame": 0.5}, seed=0)
    scores = read(*store.results())
    ranking = rank(scores)
    (axes,) = ranks.draw(scores)[0].axes
    shown = {tuple(map(float, text.get_position())): text.get_text() for text in axes.texts}
    columns = [label.get_text() for label in axes.get_xticklabels()]
    assert columns == ["B", "A", "D *", "c"]
    assert ranking.models == ["B", "A", "D", "c"] and ranking.lacking == ["D"]
    assert ranking.notes[0].startswith("* D: values are missing")
    assert shown[0, 0] == "2" and shown[0, 1] == "2.5"  # SSIM and RMSE of B on kth
    assert shown[2, -1.6] == f"{ranking.means[2]:.1f}"
    hatched = [patch.get_xy() for patch in axes.patches if patch.get_hatch()]
    assert hatched == [(1.5, 1.5), (1.5, 2.5)]  # D on enso
    assert [t.get_text() for t in axes.get_yticklabels()][:2] == ["mean rank", "SSIM ↑"]


# Overview


def test_the_overview_has_a_dot_for_each_model_and_a_line_for_each_baseline(
    tmp_path: Path,
) -> None:
    values = {"kth": {"A": [0.9, 1.0], "B": [0.8, 2.0], "c": [0.7, 2.5], "d": [0.1, 90.0]}}
    scores = scores_of(tmp_path, values)
    figure, notes = overview.draw(scores)
    ssim, rmse = figure.axes
    assert points(line_of(ssim, "A")) == [(0.9, 0)]
    assert points(line_of(ssim, "B")) == [(0.8, 1)]
    assert points(line_of(rmse, "A")) == [(1, 0)]
    assert [label.get_text() for label in ssim.get_yticklabels()] == ["A", "B"], "best on top"
    assert set(line_of(rmse, "c").get_xdata()) == {2.5}
    # What is far away does not compress the dots, and is said.
    assert "d" not in [line.get_label() for line in (*ssim.lines, *rmse.lines)]
    assert notes[-1] == "d lies outside kth SSIM, kth RMSE"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["c", "d"]


# Critical differences

# Demsar 2006, Table 6: AUC of C4.5 with cross-validation of m, of cf, of both, on 14 datasets; of
# the two 0.975 he ranks the first higher.
AUC = np.array(
    [
        [.763, .768, .771, .798], [.599, .591, .590, .569], [.954, .971, .968, .967],
        [.628, .661, .654, .657], [.882, .888, .886, .898], [.936, .931, .916, .931],
        [.661, .668, .609, .685], [.583, .583, .563, .625], [.775, .838, .866, .875],
        [1.00, 1.00, 1.00, 1.00], [.940, .962, .965, .962], [.619, .666, .614, .669],
        [.972, .981, .9751, .975], [.957, .978, .946, .970],
    ]
).T  # fmt: skip


def test_the_example_of_demsar() -> None:
    found = compare(-AUC)
    assert found.mean_ranks.round(3).tolist() == [3.143, 2.000, 2.893, 1.964]
    # He does not correct for ties: one of four models, and three of two.
    ties = 1 - (60 + 3 * 6) / (14 * (4**3 - 4))
    assert found.chi2 * ties == pytest.approx(9.28, abs=0.005)
    f_of_demsar = 13 * 9.28 / (14 * 3 - 9.28)
    assert f_of_demsar == pytest.approx(3.69, abs=0.005)
    assert f_of_demsar < found.f < 4.2 and found.p < 0.05  # his critical value is 2.85
    assert nemenyi(4, 14) == pytest.approx(1.25, abs=0.005)
    assert nemenyi(4, 14, alpha=0.1) == pytest.approx(1.12, abs=0.005)


@pytest.mark.parametrize(
    ("models", "q"),
    list(enumerate((1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164), start=2)),
)
def test_quantiles_are_those_of_demsars_table_5(models: int, q: float) -> None:
    found = nemenyi(models, 1) / math.sqrt(models * (models + 1) / 6)
    assert found == pytest.approx(q, abs=0.0011)  # he cuts or rounds


def test_groups_join_what_does_not_differ() -> None:
    assert find_similar_groups(np.array([1.0, 1.5, 2.6, 4.0]), 1.25) == [(0, 1), (1, 2)]
    assert find_similar_groups(np.array([1.0, 1.1, 1.2]), 1.25) == [(0, 2)]
    assert (
        find_similar_groups(np.array([1.0, 2.25, 4.0]), 1.25) == []
    )  # at least the critical difference


def test_models_that_never_differ_are_alike() -> None:
    found = compare(np.ones((3, 6)))
    assert (found.p, found.chi2, found.mean_ranks.tolist()) == (1.0, 0.0, [2, 2, 2])


def six(values: dict[str, list[float]]) -> dict[str, dict[str, list[float]]]:
    return {f"data{number}": values for number in range(6)}


def test_the_diagram_shows_mean_ranks_and_groups(tmp_path: Path) -> None:
    scores = scores_of(tmp_path, six({"A": [0.9, 1.0], "B": [0.8, 2.0], "C": [0.1, 3.0]}))
    figure, _ = critical_difference.draw(scores)
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.texts]
    assert {"A  1.00", "B  2.00", "3.00  C"} <= set(texts)
    cd = nemenyi(3, 6)
    assert f"CD = {cd:.2f}" in texts
    assert points(line_of(axes, "CD"))[1][0] - 1 == pytest.approx(cd)
    groups = [line for line in axes.get_lines() if line.get_label() == "group"]
    assert [np.round(line.get_xdata()).tolist() for line in groups] == [[1, 2], [2, 3]]


def test_cases_of_one_dataset_are_one_block(tmp_path: Path) -> None:
    store = FigureStore(tmp_path, "robustness")
    store.column("bridge", "SSIM", "ssim.range2", **UP)
    for interval in range(1, 8):
        key = {"subset": "robustness", "setting": f"horizon-3+interval-{interval}"}
        for number, model in enumerate("ABC"):
            store.scored(model, "bridge", {"ssim.range2": number / 10}, seed=0, **key)
    scores = read(*store.results())
    figure, _ = critical_difference.draw(scores)
    (words,) = [text.get_text() for text in figure.texts]
    assert "1 dataset" in words


# Speed


def test_speed_is_frames_per_second_of_the_recorded_job(tmp_path: Path) -> None:
    scores = scores_of(tmp_path, THREE, seconds={"A": 30.0, "B": 6.0, "c": 1.0})
    (axes,) = speed.draw(scores)[0].axes
    assert axes.get_title() == "CPU of node1 (2 cases)"
    # 20 samples of 3 lead times
    assert points(line_of(axes, "A")) == near((2.0, 1.625))
    assert points(line_of(axes, "B")) == near((10.0, 1.375))
    assert points(line_of(axes, "front")) == near((60.0, 3.0), (10.0, 1.375))


def test_devices_are_not_mixed(tmp_path: Path) -> None:
    store = FigureStore(tmp_path)
    for dataset in ("kth", "enso"):
        store.column(dataset, "SSIM", "ssim.range2", **UP)
    for model, dataset, device in (
        ("A", "kth", "NVIDIA H200"),
        ("B", "enso", "NVIDIA H200"),
        ("A", "enso", "cpu"),
        ("B", "kth", "cpu"),
    ):
        store.scored(model, dataset, {"ssim.range2": 0.5}, seed=0, device=device)
    scores = read(*store.results())
    assert speed.speeds(scores) == {
        "CPU of node1": {"A": {"enso": 6.0}, "B": {"kth": 6.0}},
        "NVIDIA H200": {"A": {"kth": 6.0}, "B": {"enso": 6.0}},
    }
    first, second = speed.draw(scores)[0].axes
    assert first.get_title() == "CPU of node1 (0 cases)"
    assert not second.get_lines() and second.texts


def test_the_front_is_beaten_by_nobody() -> None:
    points_ = {"a": (9.0, 5.0), "b": (8.0, 5.0), "c": (7.0, 2.0), "d": (1.0, 1.0), "e": (1.0, 3.0)}
    assert speed.pareto_front(points_) == ["a", "c", "d"]


# Too little, and files


@pytest.fixture(scope="module")
def of_six(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    values = six({"A": [0.9, 1], "B": [0.8, 2], "c": [0.1, 3]})
    return store_of(tmp_path_factory.mktemp("six"), values).results()


@pytest.mark.parametrize("kind", ["ranks", "overview", "critical_difference", "speed"])
def test_the_same_scores_give_the_same_bytes(
    tmp_path: Path, of_six: tuple[Path, Path], kind: str
) -> None:
    manifest, results = of_six
    for name in ("one", "two"):
        render(kind, manifest, results, tmp_path / f"{name}.png")
    for suffix in ("png", "svg"):
        one, two = (tmp_path / f"{name}.{suffix}" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    assert "synthetic data, demo protocol" in (tmp_path / "one.svg").read_text()
