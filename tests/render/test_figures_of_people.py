"""Figures of people: what is drawn is what was scored, with bands that say what they are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from figure_store import line_of
from people_store import PeopleStore

from stp.plan.cell_key import CellKey
from stp.render.figures import accuracy, crowd, densities, horizon, paths, people, runtime
from stp.render.figures.kinds import KINDS, evaluation_name, render, varied_setting
from stp.render.figures.reading import Scores, read
from stp.tracks.densities import Grid, Mixture

CASE = "hall-atlas-paper"
SOCIAL = "social_force, calibrated on hall"


@pytest.fixture(scope="module")
def transfer(tmp_path_factory: pytest.TempPathFactory) -> Scores:
    """Two predictors at home, one of which was calibrated elsewhere too."""
    store = PeopleStore(tmp_path_factory.mktemp("transfer"))
    store.tested("constant_velocity")
    store.tested("social_force", calibrated="calibrated on hall")
    store.tested("social_force", calibrated="calibrated on yard", trained_on="yard")
    return read(*store.results())


@pytest.fixture(scope="module")
def observation(tmp_path_factory: pytest.TempPathFactory) -> Scores:
    store = PeopleStore(tmp_path_factory.mktemp("observation"), "atlas_observation")
    for setting in ({"observe": 3}, {}, {"observe": 8}):
        store.tested("constant_velocity", **setting)
    return read(*store.results())


def errors_of(scores: Scores, number: int = 0) -> pd.DataFrame:
    cell = scores.cells()[number]
    return pd.read_parquet(Path(cell.scores, "errors.parquet"))


def of_scenarios(rows: pd.DataFrame) -> pd.DataFrame:
    """FDE of each scenario at each lead time, with plain pandas."""
    return rows.groupby(["scenario", "lead"])["error"].mean().unstack()


# Over the lead time


def test_errors_over_the_lead_time_are_means_over_scenarios(transfer: Scores) -> None:
    figure, notes = horizon.draw(transfer, CASE)
    average, final = figure.axes
    assert (average.get_title(), final.get_title()) == ("ADE ↓", "FDE ↓")
    assert final.get_xlabel() == "prediction horizon [s]" and final.get_ylabel() == "m"
    by = of_scenarios(errors_of(transfer))
    drawn = line_of(final, "constant_velocity")
    assert drawn.get_xdata() == pytest.approx(0.4 * np.arange(1, 9))
    assert drawn.get_ydata() == pytest.approx(by.mean().to_numpy())
    assert line_of(average, "constant_velocity").get_ydata() == pytest.approx(
        by.mean().expanding().mean().to_numpy()
    )
    assert final.get_ylim()[0] == 0
    assert any("calibrated on other data" in note for note in notes)
    assert [line.get_label() for line in final.get_lines()] == ["constant_velocity", SOCIAL]


def test_with_ten_episodes_the_band_is_the_interval_of_the_scores(tmp_path: Path) -> None:
    store = PeopleStore(tmp_path, groups=16)
    store.tested("constant_velocity")
    scores = read(*store.results())
    figure, notes = horizon.draw(scores, CASE)
    entry = scores.lines("hall-atlas-paper")[0].row.entries["ADE"]
    assert entry.clusters >= 10
    (band,) = figure.axes[0].collections
    ends = band.get_paths()[0].vertices
    at_end = ends[np.isclose(ends[:, 0], 3.2), 1]
    assert (at_end.min(), at_end.max()) == pytest.approx((entry.low, entry.high), rel=1e-4)
    assert "95 %" in notes[1]


def test_with_fewer_the_band_is_one_standard_deviation(transfer: Scores) -> None:
    figure, notes = horizon.draw(transfer, CASE)
    by = of_scenarios(errors_of(transfer))
    band = figure.axes[1].collections[0].get_paths()[0].vertices
    at_end = band[np.isclose(band[:, 0], 3.2), 1]
    mean, sd = by[8].mean(), by[8].std(ddof=0)
    assert (at_end.min(), at_end.max()) == pytest.approx((mean - sd, mean + sd))
    episodes = errors_of(transfer)["episode"].nunique()
    assert notes[0] == f"{len(by)} scenarios of {episodes} episodes"
    assert "standard deviation" in notes[1]


# By the number of people


def test_each_number_of_people_has_its_mean_and_its_scenarios(transfer: Scores) -> None:
    figure, _ = people.draw(transfer, CASE)
    rows = errors_of(transfer)
    sizes = rows.groupby("scenario")["person"].nunique()
    by = of_scenarios(rows)
    drawn = line_of(figure.axes[1], "constant_velocity")
    assert list(drawn.get_xdata()) == [2, 3]
    assert drawn.get_ydata() == pytest.approx([by.loc[sizes == n, 8].mean() for n in (2, 3)])
    shown = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert shown == [f"{n}\n{(sizes == n).sum()}" for n in (2, 3)]


# Over a setting


def test_errors_over_the_observation_are_in_seconds(observation: Scores) -> None:
    figure, notes = accuracy.draw(observation)
    average, _ = figure.axes
    assert average.get_title() == "hall, atlas-paper: ADE ↓"
    drawn = line_of(average, "constant_velocity")
    assert drawn.get_xdata() == pytest.approx([1.2, 2.4, 3.2])  # the default lies between
    assert drawn.get_ydata() == pytest.approx(
        [errors_of(observation, n).groupby("scenario")["error"].mean().mean() for n in range(3)]
    )
    counts = [errors_of(observation, n)["scenario"].nunique() for n in range(3)]
    labels = [label.get_text() for label in average.get_xticklabels()]
    assert labels == [f"{x}\n{n}" for x, n in zip((1.2, 2.4, 3.2), counts, strict=True)]
    assert f"{min(counts)} to {max(counts)} scenarios" in notes[0]


def test_noise_is_in_metres_and_protocols_have_rows_of_their_own(tmp_path: Path) -> None:
    store = PeopleStore(tmp_path, "atlas_noise")
    for subset in ("atlas-paper", "strict"):
        store.tested("constant_velocity", subset=subset)
        store.tested("constant_velocity", subset=subset, noise=500)
    figure, notes = accuracy.draw(read(*store.results()))
    assert [axes.get_title().partition(":")[0] for axes in figure.axes] == [
        *["hall, atlas-paper"] * 2,
        *["hall, strict"] * 2,
    ]
    for axes in figure.axes:
        clean, noisy = line_of(axes, "constant_velocity").get_ydata()
        assert list(line_of(axes, "constant_velocity").get_xdata()) == [0, 0.5] and noisy > clean
    assert accuracy.SCALED in notes


def test_printed_values_are_hollow_marks_beside_ours(tmp_path: Path) -> None:
    store = PeopleStore(tmp_path)
    store.tested("constant_velocity")
    (tmp_path / "published.csv").write_text(
        "table,dimension,model,trained_on,tested_on,subset,horizon,observe,variable,threshold,run,"
        "metric,value,raw,note\n"
        "III,atlas_transfer,CVM,Hall,Hall,atlas-paper,8,6,,,,ADE,0.123,0.123,\n"
    )
    store.manifest["published"] = str(tmp_path / "published.csv")
    store.manifest["published_names"]["datasets"]["hall"] = "Hall"
    figure, notes = horizon.draw(read(*store.results()), CASE)
    average, final = figure.axes
    mark = line_of(average, "_constant_velocity, as published")
    assert mark.get_xydata().tolist() == [[pytest.approx(3.2), 0.123]]
    assert mark.get_markerfacecolor() == "none" and crowd.MARKED in notes
    assert len(final.get_lines()) == 1  # nothing is printed of it


def test_each_horizon_is_a_point_and_the_longest_one_a_curve(tmp_path: Path) -> None:
    store = PeopleStore(tmp_path, "atlas_horizons")
    for steps in (4, 8):
        store.tested("constant_velocity", horizon=steps)
    scores = read(*store.results())
    figure, _ = accuracy.draw(scores)
    drawn = line_of(figure.axes[1], "constant_velocity")
    finals = [of_scenarios(errors_of(scores, n))[steps].mean() for n, steps in ((0, 4), (1, 8))]
    assert drawn.get_xdata() == pytest.approx([1.6, 3.2])
    assert drawn.get_ydata() == pytest.approx(finals)
    curve, _ = horizon.draw(scores, CASE)
    assert len(line_of(curve.axes[0], "constant_velocity").get_xdata()) == 8


# Runtime


def test_runtime_by_the_number_of_people_is_what_was_measured(transfer: Scores) -> None:
    figure, notes = runtime.draw(transfer)
    (axes,) = figure.axes
    measured = pd.read_parquet(Path(transfer.cells()[0].predictions, "runtime.parquet"))
    drawn = line_of(axes, "constant_velocity")
    assert list(drawn.get_xdata()) == measured["people"].tolist() == [2, 3]
    assert drawn.get_ydata() == pytest.approx(measured["milliseconds"].to_numpy())
    least = line_of(axes, "_constant_velocity, least")
    assert least.get_ydata() == pytest.approx(measured["least"].to_numpy())
    names = [line.get_label() for line in axes.get_lines() if line.get_label()[0] != "_"]
    assert names == ["constant_velocity", "social_force"]
    for part in ("hall, atlas-paper", "8 predicted steps", "node1: A CPU"):
        assert part in notes[1]


# Paths


def test_paths_begin_where_people_were_and_end_where_they_went(transfer: Scores) -> None:
    figure, notes = paths.draw(transfer, CASE)
    assert 2 <= len(figure.axes) <= 4
    axes = figure.axes[0]
    lines = {name: [] for name in ("_observed", "_true", "_constant_velocity")}
    for line in axes.get_lines():
        if line.get_label() in lines:
            lines[line.get_label()].append(line.get_xydata())
    assert {len(found) for found in lines.values()} == {int(axes.get_title().split()[2])}
    for seen, true, predicted in zip(*lines.values(), strict=True):
        assert len(seen) == 6 and len(true) == len(predicted) == 9
        assert seen[-1].tolist() == true[0].tolist() == predicted[0].tolist()
        # it goes on as it went: the mean step of what was observed, about
        step = np.diff(seen, axis=0).mean(axis=0)
        assert np.abs(np.diff(predicted, axis=0) - step).max() < 0.3
    assert paths.CHOSEN in notes


def test_scenarios_are_chosen_by_a_rule_each_once() -> None:
    errors, sizes = np.array([0.3, 0.1, 0.9, 0.5, 0.4]), np.array([2, 2, 3, 2, 7])
    assert paths.choose(errors, sizes) == [1, 4, 2]  # the median one has the most people
    assert paths.choose(np.array([1.0]), np.array([2])) == [0]


# Densities


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> Scores:
    """A predictor that gives a Gaussian, and one that gives points."""
    store = PeopleStore(tmp_path_factory.mktemp("dense"))
    store.tested("constant_velocity", options={"uncertainty": 0.3})
    store.tested("social_force", calibrated="calibrated on hall")
    return read(*store.results())


def test_a_density_is_drawn_at_three_lead_times_around_what_is_predicted(dense: Scores) -> None:
    figure, _ = densities.draw(dense, CASE)
    panels = figure.axes[:3]
    assert [axes.get_title() for axes in panels] == [f"{s} s ahead" for s in (1.2, 2.4, 3.2)]
    assert "constant_velocity" in panels[0].get_ylabel() and len(figure.axes) == 4  # and the bar
    people = int(figure.get_suptitle().split()[-2])
    spread = []
    for axes, lead in zip(panels, (3, 6, 8), strict=True):
        (image,) = axes.collections
        found = image.get_array().filled(0)
        # The whole of it is everybody; a little lies beyond the panel, or is too thin to be drawn.
        assert found.sum() * densities.CELL**2 == pytest.approx(people, rel=0.15)
        spread.append((found > 0).sum())
        lines = {name: [] for name in ("_observed", "_true", "_then")}
        for line in axes.get_lines():
            if line.get_label() in lines:
                lines[line.get_label()].append(line.get_xydata())
        assert {len(one) for one in lines.values()} == {people}
        for seen, true, then in zip(*lines.values(), strict=True):
            assert len(true) == lead + 1 and seen[-1].tolist() == true[0].tolist()
            assert then[0].tolist() == true[-1].tolist()
    assert spread == sorted(spread)  # it grows


def test_a_mixture_and_the_grid_of_it_look_alike() -> None:
    """One person, at (1, 2) or a little less likely at (3, 2), after one step or two."""
    weights = np.array([0.6, 0.4])
    means = np.array([[1.0, 2.0], [3.0, 2.0]])
    of = np.eye(2) * 0.09
    mixture = Mixture(
        np.broadcast_to(weights, (1, 1, 2, 2)),
        np.broadcast_to(means, (1, 1, 2, 2, 2)),
        np.broadcast_to(of, (1, 1, 2, 2, 2, 2)),
    )
    x, y = np.meshgrid(np.arange(0.05, 4, 0.1), np.arange(0.05, 4, 0.1), indexing="ij")
    at = np.stack([x, y], axis=-1).reshape(-1, 2)
    drawn = densities.per_square_metre(mixture, 0, 1, 2, at)
    assert drawn.sum() * 0.01 == pytest.approx(1, abs=1e-3)
    assert at[drawn.argmax()] == pytest.approx([1, 2], abs=0.051)
    cells = (drawn / drawn.sum()).reshape(1, 1, 1, *x.shape)
    grid = Grid(np.zeros((1, 1, 2)), 0.1, np.broadcast_to(cells, (1, 1, 2, *x.shape)))
    assert densities.per_square_metre(grid, 0, 1, 2, at) == pytest.approx(drawn, rel=1e-2)
    beyond = np.array([[-1.0, 2.0], [4.5, 2.0]])
    assert densities.per_square_metre(grid, 0, 1, 2, beyond).tolist() == [0, 0]


# All kinds


@pytest.mark.parametrize("kind", [name for name, one in KINDS.items() if one.of_scenarios])
def test_every_kind_is_written_and_says_whose_bytes_it_shows(
    tmp_path: Path, kind: str, transfer: Scores, observation: Scores, dense: Scores
) -> None:
    scores = {"accuracy": observation, "densities": dense}.get(kind, transfer)
    results = Path(scores.plan.store).parent / "results"
    manifest = results / "plan" / f"{scores.plan.dimension}.json"
    out = tmp_path / f"{kind}.png"
    render(kind, manifest, results, out, CASE if KINDS[kind].of_case else None)
    text = out.with_suffix(".svg").read_text()
    assert "sample data, tiny protocol" in " ".join(text.split()) and out.stat().st_size > 5000
    if kind != "runtime":
        assert "episodes" in text


def test_which_setting_varies_is_told_by_one_predictor() -> None:
    key = CellKey("atlas", "horizons", "a", "b", "c", "all", "eth", "strict", "horizon-8", None)
    assert evaluation_name(key) == "eth-strict"
    assert varied_setting([key]) is None
    other = replace(key, setting="horizon-12")
    assert varied_setting([key, replace(other, model="d")]) is None  # of two predictors
    assert varied_setting([key, other]) == "horizon"
    assert varied_setting([key, replace(key, setting="horizon-8+noise-100")]) == "noise"


@pytest.mark.sample_bytes
def test_on_eth_the_curve_ends_at_the_number_of_table_iii(raw_mirror: Path, tmp_path: Path) -> None:
    """CVM: 0.283 as printed, over 31 scenarios of 8 episodes, too few for an interval."""
    store = PeopleStore(
        tmp_path,
        raw=raw_mirror / "atlas/atlas_dataset/eth_data",
        names=("biwi_eth.ndjson", "map-eth.png", "H-eth.txt"),
        dataset="eth",
        smooth=5,
        variant={"rows": 8816, "people": 360, "step": 6},
        map={"picture": "map-eth.png", "homography": "H-eth.txt"},
    )
    store.tested("constant_velocity", horizon=10)
    scores = read(*store.results())
    figure, notes = horizon.draw(scores, "eth-atlas-paper")
    drawn = line_of(figure.axes[0], "constant_velocity")
    assert drawn.get_xydata()[-1].tolist() == pytest.approx([4.0, 0.283], abs=0.001)
    (band,) = figure.axes[0].collections
    ends = band.get_paths()[0].vertices
    low, *_, high = sorted(ends[np.isclose(ends[:, 0], 4.0), 1])
    assert (high - low) / 2 == pytest.approx(0.12, abs=0.005)  # printed: 0.283 +- .12
    assert notes[0] == "31 scenarios of 8 episodes" and "standard deviation" in notes[1]
    panels, _ = paths.draw(scores, "eth-atlas-paper")
    assert "frame 11890: 8 people" in panels.axes[-1].get_title()  # the most people
