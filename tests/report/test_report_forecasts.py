"""Forecasts of the report: which samples, what their pictures hold, what is said where none are."""

import base64
import io
import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import matplotlib as mpl
import numpy as np
import pytest
from forecast_store import CONTEXT, LAT, LEADS, LON, SAMPLES, ForecastStore, filled
from PIL import Image
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.render.pictures.sheet import Scale
from stp.render.pictures.sprites import columns_of, pitch
from stp.report import picture_sheets
from stp.report.columns import as_json
from stp.report.forecasts import Pictures, pieces


def made(store: ForecastStore, **wanted: Any) -> dict[str, Any]:
    """What the page is given."""
    with duckdb.connect(str(store.database()), read_only=True) as database:
        return json.loads(as_json(pieces(database, Pictures(**wanted))))


def evaluation(page_data: dict[str, Any], case: str) -> dict[str, Any]:
    (one,) = [e for e in page_data["forecasts"]["evaluations"] if e["case"] == case]
    return one


def frames_of(uri: str, entry: dict[str, Any], count: int) -> np.ndarray:
    """The frames of a sheet, uint8 (count, H, W, 3)."""
    kind, text = uri.split(",", 1)
    assert kind == "data:image/webp;base64"
    sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB"))
    width, height = entry["size"]
    across, down = pitch(width), pitch(height)
    columns = columns_of(count)
    assert entry["pitch"] == [across, down]
    corners = [(i // columns * down, i % columns * across) for i in range(count)]
    return np.stack([sheet[y : y + height, x : x + width] for y, x in corners])


def size(page_data: dict[str, Any]) -> int:
    return sum(len(json.dumps(one)) for name, one in page_data.items() if name != "forecasts")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> ForecastStore:
    return filled(tmp_path_factory.mktemp("forecasts"))


@pytest.fixture(scope="module")
def page_data(store: ForecastStore) -> dict[str, Any]:
    return made(store)


def test_samples_are_those_of_median_largest_and_smallest_error(page_data: dict[str, Any]) -> None:
    for case in ("moving_mnist", "bridge"):
        samples = evaluation(page_data, case)["samples"]
        chosen = [(one["rule"], one["number"]) for one in samples]
        assert chosen == [("median", 0), ("hardest", 3), ("easiest", 1)]
        assert "median error among 5 (mse.pixel_mean" in samples[0]["why"]
        assert samples[1]["clip"] == "clip-3"


@pytest.mark.parametrize("dataset", ["moving_mnist", "bridge"])
def test_pictures_of_video_are_the_bytes_of_the_store(
    store: ForecastStore, page_data: dict[str, Any], dataset: str
) -> None:
    entry = evaluation(page_data, dataset)
    assert entry["look"] == "lossless, full size" and entry["is_picture"]
    for sample in entry["samples"]:
        (piece,) = page_data[sample["piece"]]["variables"]
        stored = np.moveaxis(store.frames[dataset][sample["number"] * 5 :][:5], 1, -1)
        stored = np.broadcast_to(stored, (*stored.shape[:3], 3))
        np.testing.assert_array_equal(frames_of(piece["context"], entry, 2), stored[:CONTEXT])
        np.testing.assert_array_equal(frames_of(piece["truth"], entry, 3), stored[CONTEXT:])
        for model, label in (("persistence", "Persistence"), ("convlstm", "ConvLSTM")):
            predicted = store.predicted[model, dataset][sample["number"]]
            assert predicted.min() < 0 and predicted.max() > 1  # and is clipped
            expected = np.rint(np.moveaxis(np.clip(predicted, 0, 1), 1, -1) * 255)
            shown = frames_of(piece["models"][label][0], entry, LEADS)
            np.testing.assert_array_equal(shown, np.broadcast_to(expected, shown.shape))


def test_errors_are_of_unclipped_values_and_share_a_scale(
    store: ForecastStore, page_data: dict[str, Any]
) -> None:
    for dataset in ("moving_mnist", "bridge", "enso"):
        entry = evaluation(page_data, dataset)
        sample = entry["samples"][0]
        ((low, high, colours),) = [pair[1] for pair in sample["scales"]]
        (piece,) = page_data[sample["piece"]]["variables"]
        truth = store.truth(dataset, sample["number"])[CONTEXT:].astype(float)
        for model, label in (("persistence", "Persistence"), ("convlstm", "ConvLSTM")):
            if label not in piece["models"]:
                continue
            error = store.predicted[model, dataset][sample["number"]] - truth
            if dataset == "bridge":
                error, signs = np.abs(error).mean(axis=1), (0.0, "gist_heat_r")
            else:
                error, signs = error[:, 0], (-high, "RdBu_r")
            if dataset == "enso":
                error = error[:, ::-1]  # its first row is the southernmost one
            assert (low, colours) == (pytest.approx(signs[0]), signs[1])
            expected = 1 + np.rint(np.clip((error - low) / (high - low), 0, 1) * 254)
            shown = frames_of(piece["models"][label][1], entry, LEADS)[..., 0]
            # The page has seven digits of the scale.
            assert np.abs(shown - expected).max() <= 1
            assert (shown != expected).mean() < 0.02


def test_truth_and_models_of_a_field_share_a_scale_with_its_unit(
    store: ForecastStore, page_data: dict[str, Any]
) -> None:
    entry = evaluation(page_data, "enso")
    assert entry["variables"] == [{"name": "sst", "units": "°C"}] and not entry["is_picture"]
    sample = entry["samples"][0]
    low, high, colours = sample["scales"][0][0]
    frames = store.truth("enso", sample["number"])[:, 0]
    assert (low, high) == pytest.approx(tuple(np.percentile(frames, (1, 99))))
    assert colours == "viridis"
    (piece,) = page_data[sample["piece"]]["variables"]
    predicted = store.predicted["persistence", "enso"][sample["number"]][:, 0]
    uris = {piece["truth"]: frames[CONTEXT:], piece["models"]["Persistence"][0]: predicted}
    for uri, values in uris.items():
        expected = 1 + np.rint(np.clip((values[:, ::-1] - low) / (high - low), 0, 1) * 254)
        shown = frames_of(uri, entry, LEADS)
        assert np.abs(shown[..., 0] - expected).max() <= 1
        assert (shown == shown[..., :1]).all()


def test_colours_of_levels_are_those_of_the_map(page_data: dict[str, Any]) -> None:
    known = page_data["forecasts"]["colours"]
    assert set(known) == {"gray", "viridis", "RdBu_r", "gist_heat_r"}
    for name, text in known.items():
        assert len(text) == 255 * 6
        for level in (1, 77, 128, 255):
            expected = mpl.colors.to_hex(mpl.colormaps[name]((level - 1) / 254))
            assert f"#{text[6 * level - 6 : 6 * level]}" == expected


def test_values_that_are_no_numbers_have_a_level_of_their_own() -> None:
    fields = np.array([[[np.nan, np.inf, -np.inf, -9.0, 0.0, 5.0, 10.0, 99.0]]])
    levels = picture_sheets.levels(fields, Scale(0.0, 10.0, "viridis"))
    assert levels.ravel().tolist() == [0, 0, 0, 1, 1, 128, 255, 255]


def test_a_model_that_predicts_no_numbers_leaves_the_scales_of_others(tmp_path: Path) -> None:
    store = ForecastStore(tmp_path)
    store.forecast("persistence", "enso")
    cell = store.forecast("convlstm", "enso", seed=0, kept=False)
    alone = evaluation(made(store), "enso")["samples"][0]["scales"]
    broken = np.full_like(store.predicted["convlstm", "enso"], np.nan)
    store.keep(Path(cell["predictions"]), broken)
    page_data = made(store)
    sample = evaluation(page_data, "enso")["samples"][0]
    assert sample["scales"] == alone
    (piece,) = page_data[sample["piece"]]["variables"]
    entry = evaluation(page_data, "enso")
    assert not any(frames_of(uri, entry, LEADS).any() for uri in piece["models"]["ConvLSTM"])


def test_coasts_lie_where_the_grid_has_them(page_data: dict[str, Any]) -> None:
    entry = evaluation(page_data, "enso")
    assert entry["aspect"] == pytest.approx(6 * 20 / (4 * 20))
    coast = page_data["forecasts"]["coasts"][entry["coast"]]
    assert coast["box"] == [len(LON), len(LAT)]
    numbers = coast["path"].replace("M", "L").split("L")[1:]
    points = np.array([[float(part) for part in one.split()] for one in numbers])
    # Papua New Guinea and Australia are on the left, south of the equator; nothing far outside.
    assert points[:, 0].min() >= -1 and points[:, 0].max() <= 7
    assert points[:, 1].min() >= -1 and points[:, 1].max() <= 5
    assert evaluation(page_data, "moving_mnist")["coast"] is None


def test_scores_are_of_the_sample(page_data: dict[str, Any]) -> None:
    for case, convention in (("moving_mnist", "ssim.range2"), ("enso", "rmse.per_frame")):
        entry = evaluation(page_data, case)
        for sample in entry["samples"]:
            (metric,) = sample["metrics"]
            assert metric["convention"] == convention
            expected = [sample["number"] + part for part in (0.5, 0.6, 0.7)]
            assert sample["scores"] == [[pytest.approx(expected)]] * 2
    assert evaluation(page_data, "moving_mnist")["samples"][0]["times"][-1] == "+0.12 s"


@pytest.mark.parametrize("megabytes", [25, 0.02, 0.006, 0])
def test_pictures_keep_to_what_they_may_take(store: ForecastStore, megabytes: float) -> None:
    page_data = made(store, megabytes=megabytes)
    assert size(page_data) <= megabytes * 1e6
    for entry in page_data["forecasts"]["evaluations"]:
        assert entry["samples"] or "do not fit" in entry["gap"]
        pieces_of = [page_data[sample["piece"]] for sample in entry["samples"]]
        assert len(pieces_of) == len(entry["samples"])
    if megabytes < 0.001:
        assert not any(entry["samples"] for entry in page_data["forecasts"]["evaluations"])


def test_large_pictures_become_smaller_for_all_models_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ForecastStore(tmp_path)
    rng = np.random.default_rng(1)
    store.frames["bridge"] = rng.integers(0, 256, (25, 3, 60, 240), np.uint8)
    store.forecast("persistence", "bridge")
    store.forecast("convlstm", "bridge", seed=0)
    whole, small = (made(store, megabytes=mb) for mb in (25, 0.12))
    assert evaluation(whole, "bridge")["size"] == [240, 60]
    entry = evaluation(small, "bridge")
    assert size(small) <= 0.12e6
    assert max(entry["size"]) < 240 and entry["full"] == [240, 60]
    assert f"at most {entry['size'][0]} pixels" in entry["look"]
    (piece,) = small[entry["samples"][0]["piece"]]["variables"]
    for uri in (piece["truth"], *(uri for pair in piece["models"].values() for uri in pair)):
        frames = frames_of(uri, entry, LEADS)
        assert frames.shape[1:3] == tuple(entry["size"][::-1])


def test_predictions_that_are_not_kept_leave_a_gap(
    tmp_path: Path, page_data: dict[str, Any]
) -> None:
    entry = evaluation(page_data, "enso")
    assert [model["label"] for model in entry["models"]] == ["Persistence", "ConvLSTM"]
    assert all(s["gaps"] == ["", "its predictions are not kept"] for s in entry["samples"])
    store = ForecastStore(tmp_path)
    store.forecast("persistence", "moving_mnist", kept=False)
    store.forecast("persistence", "enso")
    nothing = evaluation(made(store), "moving_mnist")
    assert "no predictions are kept of Persistence" in nothing["gap"] and not nothing["samples"]
    assert evaluation(made(store), "enso")["samples"]


def test_damage_is_a_gap_that_names_the_file(tmp_path: Path) -> None:
    store = filled(tmp_path)
    (video, other) = (Path(cell["predictions"]) for cell in store.cells[:2])
    shard = video / "predictions.zarr" / "predictions" / "c" / "0" / "0" / "0" / "0" / "0"
    shard.write_bytes(shard.read_bytes()[:-9])
    page_data = made(store)
    for sample in evaluation(page_data, "moving_mnist")["samples"]:
        broken, whole = sample["gaps"]
        assert "predictions.zarr/predictions/c/0" in broken and "expected" in broken
        assert whole == "" and list(page_data[sample["piece"]]["variables"][0]["models"]) == [
            "ConvLSTM"
        ]
    (other / "index.parquet").write_bytes(b"no table")
    gap = evaluation(made(store), "moving_mnist")["gap"]
    assert "no predictions are kept" in gap and "predictions.zarr/predictions/c/0" in gap
    shutil.rmtree(Path(store.cells[-1]["data"]) / "frames.zarr")
    page_data = made(store)
    assert "frames.zarr/zarr.json: missing" in evaluation(page_data, "enso")["gap"]
    assert evaluation(page_data, "bridge")["samples"]
    assert str(tmp_path) not in json.dumps(page_data)


def test_damage_of_a_single_sample_is_its_gap_alone(tmp_path: Path) -> None:
    store = ForecastStore(tmp_path)
    store.forecast("persistence", "moving_mnist")
    cell = store.forecast("convlstm", "moving_mnist", seed=0)
    path = Path(cell["predictions"]) / "index.parquet"
    index = store.index
    index.loc[3, "clip"] = "another"
    index.to_parquet(path, index=False)
    gaps = {s["rule"]: s["gaps"][1] for s in evaluation(made(store), "moving_mnist")["samples"]}
    assert gaps["median"] == gaps["easiest"] == ""
    assert "sample 3 is clip 'another'" in gaps["hardest"]


def test_a_model_that_was_tested_on_other_data_is_not_beside_their_truth(tmp_path: Path) -> None:
    store = ForecastStore(tmp_path)
    store.forecast("persistence", "moving_mnist")
    cell = store.forecast("convlstm", "moving_mnist", seed=0)
    shutil.copytree(cell["data"], other := tmp_path / "store/data/moving_mnist/d000000000000001")
    receipt = json.loads((other / "artefact.json").read_text())
    (other / "artefact.json").write_text(json.dumps(receipt | {"fingerprint": other.name}))
    cell["data"] = str(other)
    gaps = [sample["gaps"] for sample in evaluation(made(store), "moving_mnist")["samples"]]
    assert gaps == [["", "its test data were prepared differently"]] * 3


def test_what_cannot_be_wanted_is_refused(store: ForecastStore) -> None:
    for wanted in ({"samples": 4}, {"samples": -1}, {"megabytes": -1}, {"megabytes": np.nan}):
        with pytest.raises(StpError, match="expected"):
            made(store, **wanted)


@pytest.mark.long(part="kinds")
def test_stp_report_takes_as_many_as_it_is_told(store: ForecastStore, tmp_path: Path) -> None:
    def page(*options: str) -> str:
        out = tmp_path / "report.html"
        given = ["render", str(store.database()), "--out", str(out), *options]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output
        return out.read_text(encoding="utf-8")

    assert page().count('id="data-forecasts-') == 9
    assert page("--samples", "1").count('id="data-forecasts-') == 3
    assert page("--samples", "0").count('id="data-forecasts-') == 0
    assert page("--pictures-mb", "0").count('id="data-forecasts-') == 0
    assert SAMPLES == 5
