"""Pictures of predictions: the numbers that are drawn, their limits, what is missing."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import av
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from matplotlib.axes import Axes
from PIL import Image
from small_store import bare_cell, bare_manifest, cell_key, score_rows, table_column
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.data.zarr_write import create_array, create_group
from stp.metrics.spectra import radial_spectrum
from stp.page.figure_style import Style
from stp.plan.manifest import load_manifest
from stp.plan.manifest_types import ConventionFacts
from stp.prepare.output import write_coordinate
from stp.render.pictures import movies, strips
from stp.render.pictures.files import draw
from stp.render.pictures.forecasts import SampleForecasts, compare
from stp.render.pictures.ranked import rank_forecasts
from stp.suites.chaosbench.figures import detail

CONTEXT, LEADS, SAMPLES = 2, 3, 5
LAT, LON = np.array([-30.0, 0.0, 30.0]), np.array([170.0, 180.0, 190.0, 200.0])
HOURS = {"units": "hours since 2016-01-01", "calendar": "standard"}


class PictureStore:
    """Prepared data, predictions and scores of one sample each, as the stages write them."""

    def __init__(self, folder: Path, frames: np.ndarray, coordinates: Any = (), **attrs: Any):
        self.folder, self.cells, self.predicted = folder, [], {}
        self.shape = frames.shape[1:]
        self.rng = np.random.default_rng(7)
        self.data = folder / "data" / "kth"
        given = {"shape": list(self.shape), "context": CONTEXT, "horizon": LEADS, **attrs}
        group = create_group(self.data / "frames.zarr", {"source": "synthetic", **given})
        dims = ("frame", "channel", "y", "x")
        array = create_array(group, "frames", frames.shape, frames.dtype, dims, (4, *self.shape))
        array[:] = frames
        for name, dim, values, more in coordinates:
            write_coordinate(group, name, dim, values, **more)
        length = CONTEXT + LEADS
        self.index = pd.DataFrame(
            [("test", f"clip-{i}", i * length, 1, length, "v", 0) for i in range(SAMPLES)],
            columns=["split", "clip", "start", "stride", "length", "cluster", "phase"],
        )
        self.index.to_parquet(self.data / "index.parquet")

    def add(
        self,
        model: str,
        *,
        errors: Any = (3.0, 1.0, 2.0, 5.0, 4.0),
        kept: Any = tuple(range(SAMPLES)),
        members: int | None = None,
        column: str = "mse.pixel_mean",
        scale: float = 1.0,
        streamed: bool = False,
        seed: int | None = None,
        variables: dict[str, int] | None = None,
        leads: tuple[int, ...] = (),
        variant: str = "default",
    ) -> np.ndarray:
        """Add a model that predicts noise; returns it, (samples, leads, C, H, W).

        Samples whose error is None are not scored.
        """
        key = cell_key(model, "kth", variant=variant, setting=f"horizon-{LEADS}", seed=seed)
        predictions, scores = (
            self.folder / kind / model / variant / f"seed-{seed}"
            for kind in ("predictions", "scores")
        )
        scores.mkdir(parents=True)
        scored = {f"clip-{i}": error for i, error in enumerate(errors) if error is not None}
        table = {"clip": list(scored), "variable": pa.nulls(len(scored), pa.string())}
        lists = pa.array([[error - 1, error, error + 1] for error in scored.values()])
        pq.write_table(pa.table({**table, column: lists}), scores / "sample_scores.parquet")
        frames = self.rng.normal(0.5, scale, (SAMPLES, members or 1, LEADS, *self.shape))
        frames = frames.astype(np.float32)
        if len(kept):
            place = scores if streamed else predictions
            named = {"variables": list(variables)} if variables else {}
            named |= {"leads": list(leads), "lead_times": LEADS} if leads else {}
            group = create_group(place / "predictions.zarr", {"interval": 1, **named})
            stored = (frames if members else frames[:, 0])[list(kept)]
            stored = stored[..., list(variables.values()), :, :] if variables else stored
            stored = stored[..., np.array(leads) - 1, :, :, :] if leads else stored
            names = ("sample", *(["member"] if members else []), "lead", "channel", "y", "x")
            array = create_array(
                group, "predictions", stored.shape, np.float32, names, (1, *stored.shape[1:])
            )
            array[:] = stored
            numbers = create_array(
                group, "sample", (len(kept),), np.int64, ("sample",), (len(kept),)
            )
            numbers[:] = np.array(kept)
            self.index.iloc[list(kept)].to_parquet(place / "index.parquet", index=False)
        self.cells.append(
            bare_cell(
                key,
                data=str(self.data),
                predictions=None if streamed else str(predictions),
                scores=str(scores),
            )
        )
        return frames[:, 0]

    def manifest(self, *variables: str) -> Any:
        """The manifest, written and read again, with a column for each variable."""
        columns = [table_column("WRMSE", "wrmse.per_frame", variable=name) for name in variables]
        columns = columns or [table_column("MSE", "mse.pixel_mean")]
        described = bare_manifest(
            self.folder,
            self.cells,
            tables={"short_term": {"columns": {"kth": columns}}},
            names={
                "models": {"simvpv2": "SimVPv2", "persistence": "Persistence"},
                "datasets": {"kth": "KTH"},
            },
        )
        self.path = self.folder / "short_term.json"
        self.path.write_text(json.dumps(described))
        return load_manifest(self.path)


@pytest.fixture
def video(tmp_path: Path) -> PictureStore:
    """Grey video."""
    frames = np.random.default_rng(1).integers(0, 256, (25, 1, 6, 8), np.uint8)
    return PictureStore(tmp_path, frames, stored_scale=1 / 255, fps=25, units="1")


def weather(folder: Path, **attrs: Any) -> PictureStore:
    """Fields of three variables, 6 hours apart, on a map."""
    frames = np.random.default_rng(2).normal(280, 9, (25, 3, 3, 4)).astype(np.float32)
    units = ("channel_units", "channel", np.array(["K", "K", "m**2 s**-2"], object), {})
    coordinates = [
        ("lat", "y", LAT, {"units": "degrees_north"}),
        ("lon", "x", LON, {"units": "degrees_east"}),
        ("time", "frame", np.arange(25) * 6, HOURS),
        units,
    ]
    named = {"variables": ["t_850", "t2m", "z_500"], "units": "various", **attrs}
    return PictureStore(folder, frames, coordinates, **named)


def panels(shown: SampleForecasts) -> dict[str, Axes]:
    """The panels of a strip by their labels, ``variable|model|kind|step``."""
    with strips.paper_size():
        figure = strips.draw(shown)
    labelled = [axes for axes in figure.axes if "|" in str(axes.get_label())]
    found = {axes.get_label(): axes for axes in labelled}
    # Blocks side by side repeat context and truth; nothing else is there twice.
    models = [axes.get_label() for axes in labelled if "||" not in axes.get_label()]
    assert len(set(models)) == len(models)
    return found


def values(axes: Axes) -> np.ndarray:
    """The numbers that a panel shows."""
    drawn = axes.images[0] if axes.images else axes.collections[0]
    return np.ma.getdata(drawn.get_array())


def stored_in(predictions: Path) -> Any:
    """The stored predictions, to write to."""
    return zarr.open_group(str(predictions / "predictions.zarr"), mode="r+")["predictions"]


def limits(axes: Axes) -> tuple[float, float]:
    return (axes.images[0] if axes.images else axes.collections[0]).get_clim()


def texts(figure: Any) -> str:
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def test_a_strip_shows_the_numbers_of_truth_predictions_and_errors(video: PictureStore) -> None:
    predicted = {name: video.add(name) for name in ("persistence", "simvpv2")}
    found = panels(compare(video.manifest(), "kth", "3"))
    frames = Prepared(video.data).clips("test").read([3])[0, :, 0]
    for step in (-1, 0):
        np.testing.assert_array_equal(values(found[f"||context|{step}"]), frames[step + 1])
    for lead in (1, 2, 3):
        np.testing.assert_array_equal(values(found[f"||truth|{lead}"]), frames[lead + 1])
        for name, title in (("persistence", "Persistence"), ("simvpv2", "SimVPv2")):
            forecast = predicted[name][3, lead - 1, 0]
            np.testing.assert_array_equal(values(found[f"|{title}|prediction|{lead}"]), forecast)
            np.testing.assert_allclose(
                values(found[f"|{title}|error|{lead}"]),
                np.abs(forecast.astype(float) - frames[lead + 1]),
            )
    assert len(found) == 2 + 3 + 2 * 2 * 3
    assert {limits(axes) for label, axes in found.items() if "error" not in label} == {(0.0, 1.0)}


def test_colours_are_drawn_within_their_range_and_errors_are_their_mean(tmp_path: Path) -> None:
    frames = np.random.default_rng(1).integers(0, 256, (25, 3, 6, 8), np.uint8)
    store = PictureStore(tmp_path, frames, stored_scale=1 / 255, units="1")
    predicted = store.add("simvpv2")
    shown = compare(store.manifest(), "kth", "0")
    found = panels(shown)
    clipped = np.clip(np.moveaxis(predicted[0, 1], 0, -1), 0, 1)
    assert clipped.min() == 0 and clipped.max() == 1  # noise leaves the range
    np.testing.assert_array_equal(values(found["|SimVPv2|prediction|2"]), clipped)
    truth = Prepared(store.data).clips("test").read([0])[0, 3]
    error = np.abs(predicted[0, 1].astype(float) - truth).mean(axis=0)
    np.testing.assert_allclose(values(found["|SimVPv2|error|2"]), error)
    with strips.paper_size():
        strips.draw(shown)


def test_limits_are_those_of_the_truth_however_far_a_model_goes(tmp_path: Path) -> None:
    store = weather(tmp_path)
    store.add("persistence", scale=5.0, column="wrmse.per_frame.t850")
    store.add("simvpv2", scale=1e6, column="wrmse.per_frame.t850")
    found = panels(compare(store.manifest(), "kth", "1", variable="t850"))
    frames = Prepared(store.data).clips("test").read([1])[0, :, 0]
    low, high = np.percentile(frames, (1, 99))
    for label, axes in found.items():
        expected = (0, high - low) if "error" in label else (low, high)
        assert limits(axes) == pytest.approx(expected)


def test_errors_share_the_scale_that_99_of_100_keep_to(tmp_path: Path) -> None:
    store = weather(tmp_path)
    truth = Prepared(store.data).clips("test").read([1])[0, 2:, :1]
    for name, off in (("persistence", 1.0), ("simvpv2", 2.0)):
        store.add(name, column="wrmse.per_frame.t850")
        # what stands in the store is the truth, some kelvins off
        stored = stored_in(Path(store.cells[-1]["predictions"]))
        stored[1, :, :1] = truth + off
    found = panels(compare(store.manifest(), "kth", "1", variable="t850"))
    errors = [limits(axes) for label, axes in found.items() if "error" in label]
    assert len(errors) == 6 and errors == [pytest.approx((0, 2.0), abs=1e-4)] * 6


def test_the_variables_of_tables_are_drawn_with_their_units_and_times(tmp_path: Path) -> None:
    store = weather(tmp_path)
    predicted = store.add("persistence", column="wrmse.per_frame.t2m")
    variables = ("t2m", "z500", "t850")
    shown = compare(store.manifest(*variables), "kth", "4")
    assert [(v.name, v.units) for v in shown.variables] == [
        ("t2m", "K"),
        ("z500", "m² s⁻²"),
        ("t850", "K"),
    ]
    assert shown.seconds == 6 * 3600
    # clip 4 starts at frame 20; the last of its two context frames is 21: 126 hours
    assert shown.clip == "clip-4, from 2016-01-06 06:00"
    found = panels(shown)
    assert values(found["z500|Persistence|prediction|3"]) == pytest.approx(predicted[4, 2, 2])
    assert found["t2m||truth|1"].lines, "a coastline"
    with strips.paper_size():
        text = texts(strips.draw(shown))
    assert "+3 +18 h" in text and "z500 [m² s⁻²]" in text
    assert "demo protocol" in text
    only = compare(store.manifest(*variables), "kth", "4", variable="z500")
    assert [v.name for v in only.variables] == ["z500"]


def test_models_without_predictions_are_named(video: PictureStore) -> None:
    video.add("persistence")
    video.add("tau", kept=())
    video.add("mcvd", kept=())
    video.add("mcvd", kept=(), variant="ddim")
    shown = compare(video.manifest(), "kth")
    assert [forecast.label for forecast in shown.forecasts] == ["Persistence"]
    assert any("tau, mcvd (default), mcvd (ddim)" in note for note in shown.notes)
    video.cells.pop(0)
    with pytest.raises(
        StpError,
        match=r"tau, mcvd \(default\), mcvd \(ddim\)",
    ):
        compare(video.manifest(), "kth")


def test_forecasts_that_were_scored_while_they_were_made(video: PictureStore) -> None:
    video.add("persistence", kept=(0, 2, 3))
    streamed = video.add("simvpv2", kept=(0, 2, 4), streamed=True)
    shown = compare(video.manifest(), "kth")
    # errors 3, 1, 2, 5, 4: of samples 0 and 2, which both keep, 2 is the lower
    assert shown.title == "KTH: sample 2 of 5" and shown.clip == "clip-2"
    np.testing.assert_array_equal(shown.forecasts[1].frames, streamed[2])
    assert re.search(r"among 2 .*of 5 \(mse\.pixel_mean", shown.notes[0])
    with pytest.raises(StpError, match="sample 1"):
        compare(video.manifest(), "kth", "1")


def test_where_models_keep_no_sample_in_common_those_of_most_are_drawn(video: PictureStore) -> None:
    video.add("persistence", kept=(0, 2))
    video.add("simvpv2", kept=(1,))
    video.add("tau", kept=(2, 4))
    shown = compare(video.manifest(), "kth")
    assert shown.number == 2
    assert [forecast.label for forecast in shown.forecasts] == ["Persistence", "tau"]
    assert "SimVPv2" in shown.absent


def test_archives_without_the_first_start_are_drawn_at_the_start_that_they_have(
    video: PictureStore,
) -> None:
    """Each of one kept start: two have the first one, one begins later, one has the last alone."""
    video.add("persistence", kept=(0,), streamed=True)
    video.add("tau", kept=(0,), streamed=True)
    video.add("ecmwf", kept=(1,), streamed=True, errors=(None, 1.0, None, 2.0, 5.0), members=2)
    video.add("cma", kept=(4,), streamed=True, errors=(None, None, None, None, 4.0))
    shown = compare(video.manifest(), "kth")
    assert shown.number == 0
    assert [forecast.label for forecast in shown.forecasts] == ["Persistence", "tau"]
    assert "mse.pixel_mean" in shown.why and "2 models" in shown.why
    assert any("ecmwf, cma" in note for note in shown.notes)
    assert not any("members" in note for note in shown.notes)
    strips.draw(shown)
    # Any other that is kept is drawn when it is asked for.
    asked = compare(video.manifest(), "kth", "1")
    assert [forecast.label for forecast in asked.forecasts] == ["ecmwf"]
    assert set(asked.absent) == {"Persistence", "tau", "cma"}
    alone = compare(video.manifest(), "kth", models=["cma"])
    assert alone.number == 4 and "ecmwf" not in alone.absent


def test_variables_that_a_model_lacks_are_empty_and_the_others_are_its_own(tmp_path: Path) -> None:
    store = weather(tmp_path)
    of = {"column": "wrmse.per_frame.t2m", "variables": {"t2m": 1, "z_500": 2}}
    predicted = store.add("persistence", **of)
    shown = compare(store.manifest("z500", "t850"), "kth", "4")
    lacking, there = np.moveaxis(shown.forecasts[0].frames, 1, 0)  # in the order of the data
    assert np.isnan(lacking).all()
    np.testing.assert_array_equal(there, predicted[4, :, 2])


def test_lead_times_that_a_model_lacks_are_empty(video: PictureStore) -> None:
    video.add("persistence")
    predicted = video.add("simvpv2", leads=(1, 3))
    shown = compare(video.manifest(), "kth", "2")
    found = shown.forecasts[1].frames
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], predicted[2][[0, 2]])
    with strips.paper_size():
        strips.draw(shown)


def test_spectra_of_the_drawn_sample_leave_out_what_a_model_lacks(tmp_path: Path) -> None:
    store = weather(tmp_path)
    of = {"column": "wrmse.per_frame.t2m", "variables": {"t2m": 1, "z_500": 2}}
    predicted = store.add("persistence", **of)
    shown = compare(store.manifest("z500", "t850"), "kth", "4")
    with strips.paper_size():
        figure = detail.of_sample(shown, {"Persistence": Style("#0072b2", "-", "o")})
    assert [axes.get_title() for axes in figure.axes] == [
        f"{name}, lead time {lead}" for name in ("z500", "t850") for lead in (1, 2, 3)
    ]
    names = [[str(line.get_label()) for line in axes.get_lines()] for axes in figure.axes]
    assert names == [["truth", "Persistence"]] * 3 + [["truth"]] * 3
    # 3 x 4 points: one wavenumber
    power = radial_spectrum(predicted[4, 1, 2])
    np.testing.assert_allclose(figure.axes[1].get_lines()[1].get_ydata(), power)


def test_the_first_member_of_the_first_seed_is_drawn(video: PictureStore) -> None:
    first = video.add("mcvd", members=4, seed=0)
    video.add("mcvd", members=4, seed=1)
    shown = compare(video.manifest(), "kth", "2")
    assert len(shown.forecasts) == 1
    np.testing.assert_array_equal(shown.forecasts[0].frames, first[2])
    notes = " ".join(shown.notes)
    assert "4 members" in notes and "seed 0" in notes


def test_models_can_be_chosen_and_the_sample_stays_the_same(video: PictureStore) -> None:
    video.add("persistence", errors=(9, 1, 5, 3, 7))
    video.add("simvpv2", errors=(1, 8, 2, 2, 2))
    everyone = compare(video.manifest(), "kth")
    shown = compare(video.manifest(), "kth", models=["simvpv2"])
    assert [forecast.label for forecast in shown.forecasts] == ["SimVPv2"]
    assert shown.clip == everyone.clip
    assert any("Persistence" in note for note in shown.notes)
    with pytest.raises(StpError, match="simvpv2"):
        compare(video.manifest(), "kth", models=["simvpv1"])


@pytest.mark.parametrize(
    ("higher", "best_at", "order"),
    [
        (False, None, ["SimVPv2 (0.9)", "Persistence (1.2)"]),
        (None, 1.0, ["SimVPv2 (0.9)", "Persistence (1.2)"]),
        (None, 1.1, ["Persistence (1.2)", "SimVPv2 (0.9)"]),
        (None, None, None),
    ],
)
def test_models_are_ranked_by_a_metric_or_by_the_distance_from_its_best_value(
    video: PictureStore, higher: bool | None, best_at: float | None, order: list[str] | None
) -> None:
    name = "spectral_power.fine_detail"
    for model in ("persistence", "simvpv2"):
        video.add(model)
    facts = ConventionFacts("Power", "1", higher, best_at, None, False, True, "", "")
    manifest = replace(video.manifest(), conventions={name: facts})
    for cell, value in zip(manifest.cells, (1.2, 0.9), strict=True):
        rows = score_rows({}, {name: {"mean": value}})
        pq.write_table(rows, Path(cell.scores) / "scores.parquet")
    shown = compare(manifest, "kth")
    if order is None:
        with pytest.raises(StpError, match="spectral_power"):
            rank_forecasts(shown, manifest, "kth", name)
    else:
        ordered = rank_forecasts(shown, manifest, "kth", name).forecasts
        assert [forecast.label for forecast in ordered] == order
    with pytest.raises(StpError, match="fine_detial"):
        rank_forecasts(shown, manifest, "kth", "spectral_power.fine_detial")


def test_predictions_of_other_clips_are_refused(video: PictureStore) -> None:
    video.add("persistence")
    index = Path(video.cells[0]["predictions"]) / "index.parquet"
    pd.read_parquet(index).assign(clip="x").to_parquet(index)
    with pytest.raises(StpError, match=r"index\.parquet.*sample 0.*'x'(.|\n)*'clip-0'"):
        compare(video.manifest(), "kth", "0")
    index.unlink()
    with pytest.raises(StpError, match=r"index\.parquet"):
        compare(video.manifest(), "kth", "0")


def test_files_repeat_byte_by_byte_and_nothing_else_is_left(video: PictureStore) -> None:
    video.add("persistence")
    video.manifest()
    out = video.folder / "out"
    written = {}
    for _ in range(2):
        files = draw(load_manifest(video.path), "kth", [out / "a.png", out / "a.gif"])
        assert [path.name for path in files] == ["a.svg", "a.png", "a.gif"]
        found = {path.name: path.read_bytes() for path in out.iterdir()}
        assert sorted(found) == ["a.gif", "a.png", "a.svg"]
        assert not written or written == found
        written = found


def test_no_file_is_written_for_two_samples(video: PictureStore) -> None:
    video.add("persistence")
    video.manifest()
    out = video.folder / "out"
    with pytest.raises(StpError, match=r"'01'.*'1'.*a-sample-1\.png"):
        draw(load_manifest(video.path), "kth", [out / "a.png"], ["1", "01"])
    assert not out.exists()


def test_movies_run_from_the_context_to_the_last_lead_time(video: PictureStore) -> None:
    video.add("persistence")
    video.add("simvpv2")
    shown = compare(video.manifest(), "kth", "1")
    sheet, _ = movies.sheet_of(shown, errors=True)
    assert sheet.steps.tolist() == [-1, 0, 1, 2, 3]
    by_label = {panel.label: panel.frames for group in sheet.groups for panel in group.panels}
    np.testing.assert_array_equal(by_label["SimVPv2"][:2], shown.context[:, 0])
    np.testing.assert_array_equal(by_label["SimVPv2"][2:], shown.forecasts[1].frames[:, 0])
    assert np.isnan(by_label["error of SimVPv2"][:2]).all()
    expected = np.abs(shown.forecasts[1].frames[:, 0].astype(float) - shown.truth[:, 0])
    np.testing.assert_allclose(by_label["error of SimVPv2"][2:], expected)
    outs = [video.folder / "m.gif", video.folder / "m.mp4"]
    movies.write(shown, outs)
    with Image.open(outs[0]) as image:
        assert image.n_frames == 5 and image.info["loop"] == 0 and image.info["duration"] == 500
    with av.open(str(outs[1])) as container:
        assert len(list(container.decode(video=0))) == 5


def test_frames_are_spread_with_the_first_and_the_last() -> None:
    assert strips.spread(10, 4) == [0, 3, 6, 9] and strips.spread(3, 8) == [0, 1, 2]
    assert strips.spread(2, 1) == [1] and strips.spread(1, 5) == [0]


def test_the_verb(video: PictureStore) -> None:
    video.add("persistence")
    video.manifest()
    run = CliRunner().invoke
    listed = run(app, ["draw", "pictures", str(video.path)])
    assert listed.output == "kth: persistence\n"
    out = video.folder / "strip.png"
    given = ["draw", "pictures", str(video.path), "--cell", "kth", "--out", str(out)]
    assert run(app, [*given, "--samples", "hardest,4"]).exit_code == 0
    for name in ("hardest", "sample-4"):
        assert (video.folder / f"strip-{name}.png").is_file()
        assert (video.folder / f"strip-{name}.svg").is_file()
    for more, message in (
        (["--samples", "best"], "'best'"),
        (["--variable", "t2m"], "variable"),
        (["--cell", "kht"], "(?s)kht.*kth"),
        (["--out", "a.jpg"], r"\.jpg"),
    ):
        with pytest.raises(StpError, match=message):
            run(app, [*given, *more], catch_exceptions=False)
    with pytest.raises(StpError, match="--cell and --out"):
        run(app, ["draw", "pictures", str(video.path), "--cell", "kth"], catch_exceptions=False)
