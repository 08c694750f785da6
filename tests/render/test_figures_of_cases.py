"""Figures of one case, and those over the frame interval: what is drawn is what was scored."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from figure_store import FigureStore, line_of, near, points
from small_store import PUBLISHED, dataset_facts, table_column

from stp.core.errors import StpError
from stp.data.zarr_write import SequentialWriter, create_array, create_group
from stp.render.figures import gain, leads, slopes, spectra
from stp.render.figures.kinds import render
from stp.render.figures.reading import Scores, read
from stp.render.figures.time_step import seconds_per_step
from stp.suites.chaosbench.figures import front, lead_means

SSIM = {"higher_is_better": True}


def curves(folder: Path) -> FigureStore:
    """Two models and two columns, one of which has no values per lead time."""
    store = FigureStore(folder)
    store.column("kth", "SSIM", "ssim.range2", **SSIM)
    store.column("kth", "FVD", "fvd.predicted_only", higher_is_better=False)
    for seed, first in ((0, 0.9), (1, 0.8)):
        ssim = {"mean": 0.5, "leads": [first, 0.5, 0.3], "lead_ends": [(0.1, 1.0)] * 3}
        store.scored("convlstm", "kth", {"ssim.range2": ssim, "fvd.predicted_only": 9}, seed=seed)
    plain = {"mean": 0.2, "leads": [0.3, 0.2, 0.1]}
    store.scored("persistence", "kth", {"ssim.range2": plain, "fvd.predicted_only": 8})
    return store


@pytest.fixture(scope="module")
def of_kth(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The manifest and the folder of results of these models; not to be changed."""
    return curves(tmp_path_factory.mktemp("curves")).results()


# Lead times


def test_curves_are_means_over_seeds_and_bands_are_intervals(of_kth: tuple[Path, Path]) -> None:
    figure, notes = leads.draw(read(*of_kth), "kth")
    (axes,) = figure.axes
    assert axes.get_title() == "SSIM ↑"
    assert points(line_of(axes, "convlstm")) == near((1, 0.85), (2, 0.5), (3, 0.3))
    assert points(line_of(axes, "persistence")) == near((1, 0.3), (2, 0.2), (3, 0.1))
    assert len(notes) == 2 and "FVD" in notes[0] and "(2)" in notes[1]
    (band,) = axes.collections
    assert band.get_label() == "_convlstm"
    low, high = band.get_paths()[0].vertices[:, 1].min(), band.get_paths()[0].vertices[:, 1].max()
    assert (low, high) == pytest.approx((0.1, 1.0))


def test_one_lead_time_makes_no_curve(tmp_path: Path) -> None:
    store = FigureStore(tmp_path)
    store.column("kth", "SSIM", "ssim.range2", **SSIM)
    one = {"ssim.range2": {"mean": 0.2, "leads": [0.2]}}
    store.scored("persistence", "kth", one, leads=1)
    with pytest.raises(StpError, match="kth"):
        leads.draw(read(*store.results()), "kth")


def prepared(folder: Path, attrs: dict[str, object], times: list[int] | None, unit: str) -> None:
    """Just enough of prepared data to tell the time."""
    group = create_group(
        folder / "frames.zarr", {"shape": [1, 2, 2], "context": 1, "horizon": 3, **attrs}
    )
    shape = (9, 1, 2, 2)
    axes = ("frame", "channel", "y", "x")
    with SequentialWriter(
        create_array(group, "frames", shape, np.float32, axes, (1, 1, 2, 2))
    ) as writer:
        writer.append(np.zeros(shape, np.float32))
    if times is not None:
        array = create_array(group, "time", (9,), np.int64, ("frame",), (9,))
        array[:] = np.array(times)
        array.attrs["units"] = f"{unit} since 1970-01-01"
    clip = {"clip": "a", "start": 1, "stride": 2, "length": 4, "cluster": "a", "phase": 0}
    pd.DataFrame([{"split": "test", **clip}]).to_parquet(folder / "index.parquet")


@pytest.mark.parametrize(
    ("attrs", "times", "unit", "seconds"),
    [
        ({}, list(range(0, 54, 6)), "hours", 12 * 3600),  # every second frame, six hours apart
        ({}, list(range(0, 270, 30)), "minutes", 3600),
        ({"fps": 4}, None, "", 0.5),
        ({"fps": 10}, [0, 1, 2, 4, 5, 5, 6, 9, 10], "seconds", 0.2),  # a camera's clock jitters
        ({}, None, "", None),
        ({}, [0, 31, 59, 90, 120, 151, 181, 212, 243], "days", None),  # months differ
    ],
)
def test_the_time_between_frames_is_that_of_the_data(
    tmp_path: Path,
    attrs: dict[str, object],
    times: list[int] | None,
    unit: str,
    seconds: float | None,
) -> None:
    prepared(tmp_path, attrs, times, unit)
    assert seconds_per_step(tmp_path, "test", "horizon-3") == seconds


# Spectra


def test_spectra_are_means_over_samples_at_the_first_and_last_lead(tmp_path: Path) -> None:
    observed = np.array([[8.0, 8.0], [4.0, 4.0], [2.0, 2.0], [1.0, 1.0]])
    predicted = observed * [[1.0, 0.5]]
    store = FigureStore(tmp_path)
    store.column("kth", "SSIM", "ssim.range2", **SSIM)
    both = {"ssim.range2": {"mean": 0.2, "leads": [0.2, 0.2]}}
    store.scored("persistence", "kth", both, leads=2, spectra=(predicted, observed))
    figure, _ = spectra.draw(read(*store.results()), "kth")
    first, last, ratio_first, ratio_last = figure.axes
    k = [1.0, 2.0, 3.0, 4.0]
    assert points(line_of(first, "truth")) == list(zip(k, [8, 4, 2, 1], strict=True))
    assert points(line_of(first, "persistence")) == list(zip(k, [8, 4, 2, 1], strict=True))
    assert points(line_of(last, "persistence")) == list(zip(k, [4, 2, 1, 0.5], strict=True))
    assert points(line_of(ratio_first, "persistence")) == [(x, 1.0) for x in k]
    assert points(line_of(ratio_last, "persistence")) == [(x, 0.5) for x in k]
    # The shorter side has 8 pixels: wavenumber 4 is a wave of two pixels.
    assert spectra._over(8, np.array([1.0, 4.0])).tolist() == [8.0, 2.0]


# Frame intervals


def test_slopes_go_over_the_frame_interval(tmp_path: Path) -> None:
    store = FigureStore(tmp_path, "robustness")
    store.column("bridge", "SSIM", "ssim.range2", **SSIM)
    for interval in (3, 1, 2):
        key = {"subset": "robustness", "setting": f"horizon-3+interval-{interval}"}
        value = {"mean": 1 - interval / 10, "low": 0.0, "high": 1.0}
        store.scored("convlstm", "bridge", {"ssim.range2": value}, seed=0, **key)
    figure, notes = slopes.draw(read(*store.results()))
    (axes,) = figure.axes
    assert axes.get_title() == "bridge: SSIM ↑"
    assert points(line_of(axes, "convlstm")) == near((1, 0.9), (2, 0.8), (3, 0.7))
    assert len(axes.collections) == 1
    assert notes == []


def test_slopes_go_over_the_share_of_training(tmp_path: Path) -> None:
    store = FigureStore(tmp_path, "robustness")
    store.column("bridge", "SSIM", "ssim.range2", **SSIM)
    for share in (80, 10):
        key = {"subset": "published", "setting": f"horizon-3+training-{share}"}
        store.scored("convlstm", "bridge", {"ssim.range2": share / 100}, seed=0, **key)
    figure, _ = slopes.draw(read(*store.results()))
    (axes,) = figure.axes
    assert points(line_of(axes, "convlstm")) == near((10, 0.1), (80, 0.8))
    assert axes.get_title() == "bridge, published: SSIM ↑"


@pytest.mark.parametrize("official", [True, False])
def test_published_values_are_drawn_only_where_they_may_be_compared(
    tmp_path: Path, official: bool
) -> None:
    store = FigureStore(tmp_path, "robustness")
    store.manifest["published"] = str(PUBLISHED)
    store.manifest["published_names"]["datasets"]["bridge"] = "BridgeData"
    store.manifest["datasets"]["bridge"] = dataset_facts(horizon=3)
    store.column("bridge", "SSIM", "ssim.range2", **SSIM)
    for interval in (1, 2, 3):
        key = {"subset": "robustness", "setting": f"horizon-3+interval-{interval}"}
        store.scored("convlstm", "bridge", {"ssim.range2": 0.5}, seed=0, official=official, **key)
    scores = read(*store.results())
    figure, notes = slopes.draw(scores)
    drawn = [line for line in figure.axes[0].get_lines() if "published" in str(line.get_label())]
    assert [list(line.get_xdata()) for line in drawn] == ([[2, 3]] if official else [])
    assert len(notes) == official and all("doubtful" in note for note in notes)


# Files


@pytest.mark.parametrize(
    ("kind", "case", "out", "message"),
    [
        ("lead", "kth", "a.png", r"(?s)lead\b.*leads"),
        ("leads", None, "a.png", "--cell"),
        ("ranks", "kth", "a.png", "--cell"),
        ("leads", "khh", "a.png", r"(?s)khh.*kth"),
        ("leads", "kth", "a.svg", r"a\.png"),
    ],
)
def test_mistakes_are_answered(
    of_kth: tuple[Path, Path],
    tmp_path: Path,
    kind: str,
    case: str | None,
    out: str,
    message: str,
) -> None:
    with pytest.raises(StpError, match=message):
        render(kind, *of_kth, tmp_path / out, case)
    assert not (tmp_path / out).exists()


def test_scores_of_another_manifest_are_refused(tmp_path: Path) -> None:
    store = curves(tmp_path)
    manifest, results = store.results()
    store.scored("simvpv2", "kth", {"ssim.range2": 1.0, "fvd.predicted_only": 1.0}, seed=0)
    store.write().rename(manifest)
    with pytest.raises(StpError, match="simvpv2"):
        read(manifest, results)


# Curves of a suite, and ensembles


def in_print(store: FigureStore, rows: list[str]) -> None:
    """Let a paper print values of a dataset called KTH."""
    path = store.folder / "printed.csv"
    head = "table,dimension,model,trained_on,tested_on,subset,variable,threshold,leads,run,metric"
    path.write_text("\n".join([f"{head},value,raw,note", *rows]) + "\n")
    store.manifest |= {"published": str(path)}
    store.manifest["published_names"]["datasets"]["kth"] = "KTH"


def printed(dimension: str, model: str, *values: float) -> list[str]:
    return [
        f"w,{dimension},{model},KTH,KTH,,t850,,{lead},,RMSE curve,{value},{value},"
        for lead, value in enumerate(values, start=1)
    ]


def of_centre(folder: Path, dimension: str, model: str, *values: float) -> FigureStore:
    """A model called Centre in print, with scores of t850 over lead time."""
    folder.mkdir()
    store = FigureStore(folder, dimension)
    store.manifest["published_names"]["models"][model] = "Centre"
    store.manifest["datasets"]["kth"] = dataset_facts(horizon=len(values))
    store.column("kth", "RMSE week 1", "wrmse.pooled", "t850", higher_is_better=False)
    tables = store.manifest["tables"][dimension]
    tables["curves"] = {"kth": [table_column("RMSE curve", "wrmse.pooled", variable="t850")]}
    given = {"mean": 0.2, "variable": "t850", "leads": list(values)}
    store.scored(model, "kth", {"wrmse.pooled": given}, leads=len(values), seed=0)
    return store


def beside_controls(ensemble: FigureStore, control: FigureStore) -> Scores:
    """Scores of ensembles, whose dimension names that of the single forecasts."""
    manifest, results = control.results()
    scores = read(*ensemble.results())
    plan = replace(scores.plan, controls=manifest.stem)
    return replace(scores, plan=plan, manifest=manifest, results=results)


def test_curves_of_a_suite_stand_beside_printed_ones(tmp_path: Path) -> None:
    store = of_centre(tmp_path / "one", "short_term", "convlstm", 1.0, 2.0)
    ours, theirs = printed("short_term", "Centre", 1.5, 2.5), printed("short_term", "Other", 3, 4)
    in_print(store, [*ours, *theirs, *printed("short_term", "At one lead", 9)])
    figure, notes = leads.draw(read(*store.results()), "kth")
    (axes,) = figure.axes
    assert axes.get_title() == "t850 RMSE curve ↓"
    assert points(line_of(axes, "convlstm")) == near((1, 1.0), (2, 2.0))
    assert points(line_of(axes, "Centre (published)")) == near((1, 1.5), (2, 2.5))
    assert points(line_of(axes, "Other (published)")) == near((1, 3), (2, 4))
    assert len(notes) == 1 and "not comparable" in notes[0]


def test_means_are_over_the_lead_times_that_most_forecasts_have(tmp_path: Path) -> None:
    store = of_centre(tmp_path / "one", "short_term", "convlstm", 1.0, 2.0, 9.0)
    values = {"mean": 0.2, "variable": "t850", "leads": [3.0, 5.0]}
    store.scored("persistence", "kth", {"wrmse.pooled": values}, leads=2, seed=None)
    in_print(store, printed("short_term", "Centre", 1.5, 2.5))
    figure, notes = lead_means.draw(read(*store.results()), "kth")
    (axes,) = figure.axes
    names = [tick.get_text() for tick in axes.get_yticklabels()]
    assert names == ["persistence", "convlstm"], "networks come last"
    assert points(line_of(axes, "persistence")) == near((4.0, 0))
    assert points(line_of(axes, "convlstm")) == near((1.5, 1))
    assert points(line_of(axes, "Centre (published)")) == near((2.0, 1))
    assert len(notes) == 2 and "(2)" in notes[0] and "not comparable" in notes[1]


def test_a_forecast_of_few_lead_times_does_not_shorten_the_means_of_others(tmp_path: Path) -> None:
    store = of_centre(tmp_path / "one", "short_term", "convlstm", 1.0, 2.0, 9.0)
    for variant, leads_of in (("steps5", [2.0, 4.0, 6.0]), ("direct", [5.0])):
        values = {"mean": 0.2, "variable": "t850", "leads": leads_of}
        given = {"leads": 3, "seed": 0, "variant": variant}
        store.scored("convlstm", "kth", {"wrmse.pooled": values}, **given)
    figure, notes = lead_means.draw(read(*store.results()), "kth")
    (axes,) = figure.axes
    direct = "convlstm [variant direct]"
    shown = {str(line.get_label()): points(line) for line in axes.get_lines()}
    assert shown["convlstm [variant default]"] == near((4.0, 0))
    assert shown["convlstm [variant steps5]"] == near((4.0, 1)) and direct not in shown
    assert len(notes) == 2 and "(3)" in notes[0] and direct in notes[1]


def test_an_ensemble_is_divided_by_the_single_forecasts_of_its_model(tmp_path: Path) -> None:
    ensemble = of_centre(tmp_path / "many", "long_term", "mcvd", 0.5, 1.5)
    control = of_centre(tmp_path / "single", "short_term", "convlstm", 1.0, 2.0)
    rows = [*printed("long_term", "Centre", 2.0, 3.0), *printed("short_term", "Centre", 4.0, 4.0)]
    in_print(ensemble, rows)
    in_print(control, rows)
    figure, notes = gain.draw(beside_controls(ensemble, control), "kth")
    (axes,) = figure.axes
    assert points(line_of(axes, "mcvd")) == near((1, 0.5), (2, 0.75))
    assert points(line_of(axes, "Centre (published)")) == near((1, 0.5), (2, 0.75))
    assert len(notes) == 1 and "not comparable" in notes[0]


def test_an_ensemble_of_trainings_is_divided_by_one_of_them(tmp_path: Path) -> None:
    """The model itself, and no other variant of it, whatever the paper calls that one."""
    ensemble = of_centre(tmp_path / "many", "long_term", "mcvd", 0.5, 1.5)
    control = of_centre(tmp_path / "single", "short_term", "unet", 1.0, 4.0)
    of_variants = ((ensemble, "trainings5", [0.5, 1.0]), (control, "scrambled", [9.0, 9.0]))
    for store, variant, values in of_variants:
        given = {"wrmse.pooled": {"mean": 0.2, "variable": "t850", "leads": values}}
        store.scored("unet", "kth", given, leads=2, seed=0, variant=variant)
    in_print(ensemble, [])
    in_print(control, [])
    figure, notes = gain.draw(beside_controls(ensemble, control), "kth")
    (axes,) = figure.axes
    assert points(line_of(axes, "unet")) == near((1, 0.5), (2, 0.25)) and notes == []


def test_ensembles_without_single_forecasts_are_answered(
    of_kth: tuple[Path, Path], tmp_path: Path
) -> None:
    with pytest.raises(StpError, match="short_term"):
        render("gain", *of_kth, tmp_path / "a.png", "kth")


# Scales that are lost, fronts of errors and spectra, ranks of the observation


def test_a_front_joins_variants_that_no_other_one_beats_in_both(tmp_path: Path) -> None:
    store = FigureStore(tmp_path)
    store.column("kth", "RMSE", front.ERROR, "t850")
    for variant, error, power in (("default", 1.0, 3.0), ("spectral", 2.0, 1.0), ("bad", 3, 4)):
        values = {
            front.ERROR: {"mean": error, "leads": [error], "lead_ends": [(error / 2, error * 2)]},
            front.SPECTRA: {"mean": power, "leads": [power]},
        }
        values = {name: value | {"variable": "t850"} for name, value in values.items()}
        store.scored("unet", "kth", values, seed=0, variant=variant)
    figure, _ = front.draw(read(*store.results()), "kth")
    (axes,) = figure.axes
    (joined,) = [line for line in axes.get_lines() if len(line.get_xdata()) > 1]
    assert points(joined) == near((1, 3), (2, 1))
    assert len(axes.get_lines()) == 4 and len(axes.collections) == 3, "intervals of RMSE alone"
