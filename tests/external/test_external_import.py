"""`stp external import`: what is taken, what becomes of it, and what is refused, and why."""

import json
import os
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
import zarr
from crps_reference import properscoring
from elsewhere import forecast, returned

from stp.core.errors import StpError
from stp.data.prepared import Prepared
from stp.external.importing import without_external
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.manifests import manifest
from stp.predict import imported
from stp.run import runner
from stp.score.predictions import Predictions
from stp.verbs.external import _scale_file

LEADS = {"dots": 3, "field": 2}


@pytest.fixture
def dots(world):
    """A good forecast of the dots, (12, 3, 1, 16, 16)."""
    return forecast(world.folder / "windows-dots", 3)


@pytest.fixture
def field(world):
    """A good forecast of the field, (.., 2, 2, 6, 8)."""
    return forecast(world.folder / "windows-field", 2)


@pytest.fixture
def submit(world, tmp_path):
    """Return predictions in a folder, and import them."""

    def run(name, predictions, *, accept=(), statistic=None, **arrays):
        folder = tmp_path / "returned"
        shutil.rmtree(folder, ignore_errors=True)
        returned(world.folder / f"windows-{name}", folder, predictions, **arrays)
        more = {f"accept_{what}": True for what in accept}
        return world.submit(folder, statistic=statistic, **more)

    return run


@pytest.mark.parametrize(
    ("configfile", "text"),
    [
        ("config/mine.yaml", "config/mine.yaml"),
        ("results/plan/config-1.json", "scale file of mine"),
    ],
)
def test_the_file_to_edit_is_the_users_own(configfile, text):
    scale_file = _scale_file(Path(configfile), "mine")
    assert text in scale_file and ".json" not in scale_file


def refuse(match, call, *given, **more):
    with pytest.raises(StpError, match=match):
        call(*given, **more)


def made(world, *models, **changes):
    """Make the cells of the model."""
    plan = world.plan("theirs", **changes)
    cells = [cell for cell in plan.cells if cell.cell.model == "theirs"]
    for one in cells:
        lock = one.predictions.inputs["external"].lock
        runner.fetch(plan, plan.raw_of(str(plan.store / lock)))
        runner.make(plan, one.predictions)
        runner.make(plan, one.scores)
    return plan, cells


# What is taken


def test_a_submission_becomes_a_cell_and_is_scored_like_one_of_ours(world, submit, dots):
    done = submit("dots", dots)
    entry = yaml.safe_load(done.entry.read_text())
    assert (entry["title"], entry["fit"], entry["training"]) == (
        "Theirs",
        "external",
        "dots of 1999",
    )
    plan, (cell,) = made(world)  # none on the field: nothing was imported for that
    assert str(cell.cell) == "theirs on dots (short_term)" and not cell.models
    assert plan.gpus(cell.predictions) == 0
    ours = next(one for one in plan.cells if one.cell.model == "persistence"
                and one.cell.tested_on == "dots")  # fmt: skip
    for artefact in (ours.predictions, ours.scores):
        runner.make(plan, artefact)
    assert "stp.predict.imported" in cell.predictions.code.modules
    folder = Path(__file__).parents[2]
    texts = [
        folder.joinpath(*m.split(".")).with_suffix(".py") for m in cell.predictions.code.modules
    ]
    assert not any("import torch" in path.read_text() for path in texts if path.exists())

    def table(one, name):
        rows = pd.read_parquet(plan.store / one.scores.folder / name)
        return rows.drop(columns=["model"])

    for name in ("scores.parquet", "sample_scores.parquet"):
        pd.testing.assert_frame_equal(table(cell, name), table(ours, name))
    data = Prepared(plan.store / cell.data.folder)
    mine = Predictions(plan.store / cell.predictions.folder, data, "test")
    np.testing.assert_array_equal(mine.read(0, 12)[0][:, 0], dots)


def write_form(folder, form, dots):
    (folder / "predictions.npz").unlink()
    if form == "zarr":
        group = zarr.create_group(folder / "predictions.zarr", zarr_format=2)
        group.create_array("predictions", data=dots, chunks=(5, 2, 1, 16, 16))
    elif form == "zarr alone":
        zarr.create_array(folder / "predictions.zarr", data=dots)
    elif form == "npy":
        np.save(folder / "predictions.npy", np.asfortranarray(dots.astype(">f8")))
    elif form == "half":
        np.save(folder / "predictions.npy", dots.astype(np.float16))
    else:
        clips = pd.read_csv(folder / "index.csv")["clip"]
        for sample, one in enumerate(dots):
            name = f"{sample:05d}" if form == "files" else clips[sample]
            path = folder / "predictions" / f"{name}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, one)


def test_every_form_is_read_alike(world, tmp_path, dots, submit):
    wanted = submit("dots", dots).submission.sha256
    for form in ("zarr", "zarr alone", "npy", "files", "clips", "half"):
        folder = returned(world.folder / "windows-dots", tmp_path / form, dots)
        write_form(folder, form, dots)
        found = world.submit(folder).submission
        if form == "half":
            kept = np.load(world.folder / "raw" / found.release.files[0].path)
            assert kept.dtype == np.float32 and np.abs(kept - dots).max() < 5e-4
        else:
            assert found.sha256 == wanted, form


def test_rows_may_come_in_any_order_that_is_named(world, tmp_path, dots, submit):
    wanted = submit("dots", dots).submission.sha256
    order = np.random.default_rng(0).permutation(12)
    assert submit("dots", dots[order], sample=order).submission.sha256 == wanted
    folder = returned(world.folder / "windows-dots", tmp_path / "sorted", dots[order])
    index = pd.read_csv(folder / "index.csv")
    index.iloc[order].to_csv(folder / "index.csv", index=False)
    assert world.submit(folder).submission.sha256 == wanted


def test_members_are_scored_as_an_ensemble(world, submit, dots):
    noise = np.random.default_rng(0).normal(0, 0.05, (12, 4, *dots.shape[1:]))
    done = submit("dots", (dots[:, None] + noise).astype(np.float32), statistic="best_of_members")
    assert (done.submission.members, done.submission.statistic) == (4, "best_of_members")
    plan, (cell,) = made(world)
    found = zarr.open_group(str(plan.store / cell.predictions.folder / "predictions.zarr"))
    dims = ("sample", "member", "lead", "channel", "y", "x")
    assert found["predictions"].metadata.dimension_names == dims
    scores = pd.read_parquet(plan.store / cell.scores.folder / "scores.parquet")
    overall = scores[scores["lead"].isna() & (scores["statistic"] == "mean")]
    values = overall.set_index("convention")["value"]
    truth = np.load(world.folder / "windows-dots" / "windows.npz")["truth"]
    errors = np.square(dots[:, None] + noise - truth[:, None]).mean(axis=(2, 3, 4, 5))
    np.testing.assert_allclose(values["mse.pixel_mean"], errors.min(axis=1).mean(), rtol=1e-5)
    crps = properscoring.crps_ensemble(truth, np.moveaxis(dots[:, None] + noise, 1, -1))
    np.testing.assert_allclose(values["crps.pixel_mean"], crps.mean(), rtol=1e-5)


@pytest.fixture
def dots_truth(world):
    """What came after the windows of the dots, (12, 3, 1, 16, 16)."""
    return np.load(world.folder / "windows-dots" / "windows.npz")["truth"]


@pytest.mark.parametrize("how", ["equal", "rounded", "noisy", "one member", "one frame"])
def test_predictions_that_know_the_truth_are_said_to(world, submit, dots, dots_truth, how):
    rng = np.random.default_rng(1)
    given = {
        "equal": dots_truth,
        "rounded": dots_truth.astype(np.float16).astype(np.float32),
        "noisy": dots_truth + rng.normal(0, 1e-4, dots_truth.shape).astype(np.float32),
        "one member": np.stack([dots, dots_truth, 0.9 * dots], axis=1),
        "one frame": np.where(np.arange(12)[:, None, None, None, None] == 7, dots_truth, dots),
    }[how]
    done = submit("dots", given)
    assert done.warnings[-1:]
    equal = {"equal": 36, "one member": 36, "one frame": 3, "rounded": 0, "noisy": 0}[how]
    near = 3 if how == "one frame" else 36
    assert f"{near} of 36 " in done.submission.note and f"({equal} " in done.submission.note
    assert ("sample 7 (" in done.submission.note) == (how == "one frame")
    assert yaml.safe_load(done.entry.read_text())["submissions"][0]["note"]
    told = {
        cell.key.model: cell.subset_note
        for cell in manifest(world.plan("theirs"), "short_term").cells
    }
    assert told["theirs"] == done.submission.note and told["persistence"] == ""


def test_honest_forecasts_are_not_said_to_know_the_truth(submit, dots, dots_truth):
    for given in (dots, 0.7 * dots_truth + 0.3 * dots):  # the second is three times as near
        assert submit("dots", given.astype(np.float32)).submission.note == ""


def test_members_that_are_equal_count_once(world, submit, dots):
    first, second = dots, (0.9 * dots).astype(np.float32)
    wanted = submit("dots", np.stack([first, second], axis=1)).submission
    done = submit("dots", np.stack([first, second, first, second], axis=1))
    assert (done.submission.sha256, done.submission.members) == (wanted.sha256, 2)
    assert "3 of 1, 4 of 2" in done.submission.note and wanted.note == ""
    alone = submit("dots", np.stack([first, first], axis=1), statistic="ensemble_mean").submission
    assert (alone.members, alone.statistic) == (1, None)
    assert alone.sha256 == submit("dots", first).submission.sha256


def test_one_member_is_no_ensemble(submit, dots):
    wanted = submit("dots", dots).submission.sha256
    assert submit("dots", dots[:, None]).submission.sha256 == wanted
    refuse("--statistic", submit, "dots", dots, statistic="ensemble_mean")


def test_manifests_mark_it_and_never_call_it_the_papers(world, submit, dots, monkeypatch):
    monkeypatch.setattr(config, "CONFIG_FOLDER", world.facts)
    submit("dots", dots)
    found = manifest(world.plan("theirs"), "short_term")
    theirs = [cell for cell in found.cells if cell.key.model == "theirs"]
    assert [(c.external, c.protocol, c.follows_paper) for c in theirs] == [
        (True, "external", False)
    ]
    assert theirs[0].reference == "https://example.org/theirs"
    assert found.names.models["theirs"] == "Theirs (external)"
    assert "theirs" not in found.published_names.models
    ours = [cell for cell in found.cells if cell.key.model == "persistence"]
    assert not any(cell.external for cell in ours)


def test_a_newer_submission_takes_the_place_of_the_older(world, submit, dots, field):
    first = submit("dots", dots)
    plan, (old,) = made(world)
    submit("field", field)
    assert [c.cell.tested_on for c in world.plan("theirs").cells if c.cell.model == "theirs"] == [
        "dots",
        "field",
    ]
    second = submit("dots", 0.5 * dots)
    assert not first.replaced and second.replaced
    entry = yaml.safe_load(second.entry.read_text())
    assert [one["tested_on"] for one in entry["submissions"]] == ["dots", "field"]
    plan, (new, _) = made(world)
    assert new.predictions.folder != old.predictions.folder
    assert (plan.store / old.predictions.receipt).exists()


def test_other_data_of_the_same_name_are_another_test(world, submit, dots):
    """A scale with other clips has no cell for it; with no cell at all that is an error."""
    submit("dots", dots)
    other = {"dots": {"prepare": {"splits": {"test": 0.3}}}}
    refuse("theirs", world.plan, "theirs", datasets=other)
    code = world.plan("theirs").cells[1].predictions
    assert code.recipe["submission"]["windows"]  # by content, not by fingerprint


def test_import_works_while_the_scale_names_the_model_already(world, submit, dots, tmp_path):
    submit("dots", dots)
    entry = world.facts / "models" / "theirs.yaml"
    content = yaml.safe_load(entry.read_text())
    entry.write_text(yaml.safe_dump({**content, "submissions": []}))
    wanted = {"dimensions": {"short_term": {"models": ["persistence", "theirs"]}}}
    refuse("theirs", Plan, world.config(**wanted))
    assert all(
        one.cell.model != "theirs" for one in Plan(without_external(world.config(**wanted))).cells
    )
    done = world.submit(tmp_path / "returned", changes=wanted)
    assert done.submission.tested_on == "dots"


# What is refused


def test_missing_samples_are_named(submit, dots, world, tmp_path):
    refuse("11 .*`sample`", submit, "dots", np.delete(dots, 7, 0))
    refuse(r"sample 7 \(", submit, "dots", np.delete(dots, 7, 0),
           sample=np.delete(np.arange(12), 7))  # fmt: skip
    folder = returned(world.folder / "windows-dots", tmp_path / "rows", np.delete(dots, 7, 0))
    index = pd.read_csv(folder / "index.csv")
    index.drop(7).to_csv(folder / "index.csv", index=False)
    refuse("index.csv: .*7 ", world.submit, folder)
    (folder / "predictions.npz").unlink()
    (folder / "predictions").mkdir()
    index.to_csv(folder / "index.csv", index=False)
    for sample in {*range(12)} - {4, 9}:
        np.save(folder / "predictions" / f"{sample}.npy", dots[sample])
    refuse(r"sample 4 \(.* 1 ", world.submit, folder)


def test_a_sample_that_is_there_twice_is_named(submit, dots):
    twice = np.concatenate([np.arange(12), [3]])
    refuse("row 12 .* 3", submit, "dots", dots[twice], sample=twice)
    beyond = np.concatenate([np.arange(12), [12]])
    refuse("row 12 .* 12", submit, "dots", dots[twice], sample=beyond)


def test_a_sample_in_two_files_is_named(world, tmp_path, dots):
    folder = returned(world.folder / "windows-dots", tmp_path / "files", dots)
    with (
        pytest.warns(UserWarning, match=r"predictions\.npy"),
        zipfile.ZipFile(folder / "predictions.npz", "a") as archive,
    ):
        archive.write(folder / "index.csv", "predictions.npy")
    refuse(r"predictions\.npz: predictions\.npy", world.submit, folder)
    (folder / "predictions.npz").unlink()
    (folder / "predictions").mkdir()
    for sample, one in enumerate(dots):
        np.save(folder / "predictions" / f"{sample}.npy", one)
    clip = folder / "predictions" / f"{pd.read_csv(folder / 'index.csv')['clip'][3]}.npy"
    for path, first in ((folder / "predictions" / "00.npy", "0"), (clip, "3")):
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, dots[1])
        refuse(rf"{first}\.npy", world.submit, folder)
        path.unlink()


def test_truncated_files_name_the_first_sample_that_is_lost(world, tmp_path, dots):
    folder = returned(world.folder / "windows-dots", tmp_path / "cut", dots)
    (folder / "predictions.npz").unlink()
    path = folder / "predictions.npy"
    np.save(path, dots)
    whole = path.read_bytes()
    path.write_bytes(whole[: 128 + 5 * dots[0].nbytes + 7])
    refuse("predictions.npy", world.submit, folder)
    path.unlink()
    zarr.create_array(folder / "predictions.zarr", data=dots, chunks=(1, 3, 1, 16, 16))
    chunk = folder / "predictions.zarr" / "c" / "6" / "0" / "0" / "0" / "0"
    chunk.write_bytes(chunk.read_bytes()[:9])
    refuse(r"sample 6 \(", world.submit, folder)
    chunk.unlink()
    refuse(r"sample 6 \(", world.submit, folder)
    shutil.rmtree(folder / "predictions.zarr")
    (folder / "predictions").mkdir()
    for sample, one in enumerate(dots):
        np.save(folder / "predictions" / f"{sample}.npy", one)
    path = folder / "predictions" / "8.npy"
    path.write_bytes(path.read_bytes()[:200])
    refuse(r"8.npy: sample 8 ", world.submit, folder)
    shutil.rmtree(folder / "predictions")
    (folder / "predictions.npz").write_bytes(b"PK\x03\x04 and then the line broke")
    refuse("predictions.npz", world.submit, folder)


def test_units_that_were_mistaken_are_named(submit, dots, field):
    refuse(r"sample 0 .*0\.\.255 [\s\S]*255", submit, "dots", 255 * dots)
    refuse(r"sample 0 .*-1\.\.1 ", submit, "dots", 2 * dots - 1)
    refuse("sample 0 .*1 - x", submit, "dots", 1 - dots)
    refuse("uint8[^/]*255", submit, "dots", (255 * dots).astype(np.uint8))


def test_samples_that_were_not_filled_are_named(submit, dots):
    unfilled = dots.copy()
    unfilled[[7, 9]] = 0
    (warning,) = submit("dots", unfilled).warnings
    assert "sample 7" in warning
    assert submit("dots", np.full_like(dots, dots.mean())).warnings == []


def test_normalised_values_are_no_kelvin(world, submit, field):
    about = json.loads((world.folder / "windows-field" / "windows.json").read_text())
    offset, scale = (np.array(about["normalisation"][key])[:, None, None]
                     for key in ("offset", "scale"))  # fmt: skip
    normalised = ((field - offset) / scale).astype(np.float32)
    refuse(r"sample 0 .*normalised .*\(t2m", submit, "field", normalised)
    wind = np.stack([field[:, :, 0], normalised[:, :, 1]], axis=2)
    refuse(r"normalised .*\(u10", submit, "field", wind)
    celsius = field - np.array([273.15, 0], np.float32)[:, None, None]
    refuse(r"Celsius .*\(t2m[\s\S]*273.15", submit, "field", celsius)
    done = submit("field", celsius, accept=["values"])
    assert "Celsius" in done.warnings[0]


@pytest.mark.parametrize(
    ("name", "place", "change", "refused"),
    [
        ("dots", (5, 2, 0, 3, 4), lambda part: part * np.nan, r"sample 5 \("),
        ("dots", (9, 0, 0, 0, 0), lambda part: part + np.inf, r"sample 9 \("),
        ("field", (6, slice(None), 0), lambda part: part - 273.15, "sample 6 .*t2m "),
        ("field", (3, 1, 1), lambda part: 0 * part + 1e9, "sample 3 .*u10 "),
        ("dots", [4, 10], lambda part: part[::-1], "sample 4 .* sample 10"),
    ],
)
def test_the_first_wrong_sample_is_named(submit, request, name, place, change, refused):
    predictions = request.getfixturevalue(name)
    predictions[place] = change(predictions[place])
    refuse(refused, submit, name, predictions)


@pytest.mark.parametrize("name", ["dots", "field"])
def test_shuffled_samples_are_refused(world, submit, request, name):
    good = request.getfixturevalue(name)
    order = np.roll(np.arange(len(good)), 5)
    refuse("sample 0 .* sample", submit, name, good[order])
    done = submit(name, good[order], accept=["order"])
    assert "sample 0" in done.warnings[0]


def test_other_data_are_refused_and_the_first_window_that_differs_named(
    world, tmp_path, dots, monkeypatch
):
    """Windows of the same dataset before its raw bytes changed: another data fingerprint."""
    folder = returned(world.folder / "windows-dots", tmp_path / "before", dots)
    raw = np.load(world.folder / "raw" / "dots.npy")
    first = pd.read_csv(folder / "index.csv")["clip"][2]
    raw[int(first.split("/")[-2]), 1, 5, 5] ^= 64
    np.save(tmp_path / "dots.npy", raw)
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path))
    changed = {
        "datasets": {
            "dots": {
                "release": "changed",
                "releases": {"changed": {"source": "own", "files": [{"path": "dots.npy"}]}},
            }
        }
    }
    plan = Plan(world.config(**changed))
    world.prepare(plan, "dots")
    old = json.loads((folder / "windows.json").read_text())["data"]["fingerprint"]
    assert plan.data("dots").fingerprint != old
    refuse(rf"sample 2 [\s\S]*changed[\s\S]*{old}", world.submit, folder, changes=changed)


def test_the_same_frames_under_another_fingerprint_are_the_same_windows(world, tmp_path, dots):
    """Code of the reader may change, and the frames not."""
    folder = returned(world.folder / "windows-dots", tmp_path / "same", dots)
    path = folder / "windows.json"
    about = json.loads(path.read_text())
    about["data"]["fingerprint"] = "0123456789abcdef"
    path.write_text(json.dumps(about))
    assert world.submit(folder).submission.windows == about["index_sha256"]


def test_windows_of_another_dataset_or_test_are_refused(world, tmp_path, dots, field):
    folder = returned(world.folder / "windows-dots", tmp_path / "a", dots)
    only = {"dimensions": {"short_term": {"datasets": ["field"]}, "robustness": {"cells": []}}}
    refuse("short_term: dots.*sample 0", world.submit, folder, changes=only)
    longer = {"datasets": {"dots": {"horizon": 5}}}
    refuse(r"horizon-3[\s\S]*horizon-5", world.submit, folder, changes=longer)
    # forecasts of one dataset in the folder of the other
    wrong = returned(world.folder / "windows-field", tmp_path / "b", dots)
    refuse(r"\(12, 3, 1, 16, 16\)[\s\S]*2, 2, 6, 8", world.submit, wrong)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        (lambda p: np.moveaxis(p, 2, -1), "channels.* last"),
        (lambda p: p[:, :, 0], "axis.*channel"),
        (lambda p: np.swapaxes(p, 1, 2), "leads .*before channels"),
        (lambda p: np.swapaxes(p, 0, 1), "lead times .*before samples"),
        (lambda p: np.concatenate([p, p], axis=1), "context frames"),
    ],
)
def test_shapes_come_with_the_likely_mistake(submit, dots, change, hint):
    refuse(rf"shape[\s\S]*{hint}", submit, "dots", change(dots))


def test_what_belongs_to_the_windows_must_come_back_as_it_was(world, tmp_path, dots):
    folder = returned(world.folder / "windows-dots", tmp_path / "a", dots)
    index = pd.read_csv(folder / "index.csv")
    index.loc[3, "window"] = "0" * 16
    index.to_csv(folder / "index.csv", index=False)
    refuse("index.csv.*windows.json", world.submit, folder)
    (folder / "index.csv").unlink()
    refuse("index.csv", world.submit, folder)
    (folder / "windows.json").unlink()
    refuse("windows.json", world.submit, folder)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("{}", "format"),
        ("[]", ""),
        ("[" * 100_000, ""),
        ({"format": 2}, "format"),
        ({"shape": None}, "shape"),
        ({"shape": ["1", 16, 16]}, "shape"),
        ({"samples": "12"}, "samples"),
        ({"units": 1}, "units"),
        ({"values": {}}, r"values\.low"),
        ({"values": {key: [0.0, 1.0] for key in ("low", "high", "mean", "std")}}, r"values\.low"),
        ({"data": "x"}, "data"),
        ({"variables": ["a", "b"]}, "variables"),
        ({"normalisation": {"scale": "x", "offset": 0}}, r"normalisation\.scale"),
        ({"evaluation": {}}, r"evaluation\.dimension"),
        ({"evaluation": {"setting": "horizon"}}, "evaluation"),
        ({"evaluation": {"setting": 3}}, r"evaluation\.setting"),
    ],
)
def test_a_malformed_description_of_windows_is_one_error(world, tmp_path, dots, change, named):
    folder = returned(world.folder / "windows-dots", tmp_path / "a", dots)
    path = folder / "windows.json"
    if isinstance(change, dict):
        about = json.loads(path.read_text())
        if change.get("evaluation"):
            change = {"evaluation": about["evaluation"] | change["evaluation"]}
        change = json.dumps(about | change)
    path.write_text(change)
    refuse(rf"windows\.json: .*{named}", world.submit, folder)


@pytest.mark.parametrize("name", ["windows.json", "index.csv", "predictions.npy"])
def test_a_named_pipe_in_a_submission_is_refused(world, tmp_path, dots, name):
    folder = returned(world.folder / "windows-dots", tmp_path / "a", dots)
    for path in (folder / name, *folder.glob("predictions.*")):
        path.unlink(missing_ok=True)
    os.mkfifo(folder / name)
    refuse(name, world.submit, folder)


def test_one_form_of_predictions_and_no_other(world, tmp_path, dots):
    folder = returned(world.folder / "windows-dots", tmp_path / "a", dots)
    np.save(folder / "predictions.npy", dots)
    refuse(r"predictions.npz and predictions.npy", world.submit, folder)
    (folder / "predictions.npy").unlink()
    np.savez(folder / "predictions.npz", prediction=dots)
    refuse(r"predictions\.npz", world.submit, folder)
    (folder / "predictions.npz").unlink()
    refuse("predictions", world.submit, folder)


def test_models_of_ours_are_never_overwritten(world, tmp_path, dots):
    folder = returned(world.folder / "windows-dots", tmp_path / "a", dots)
    before = (world.facts / "models" / "convlstm.yaml").read_bytes()
    refuse("convlstm.*convlstm.yaml", world.submit, folder, "convlstm")
    assert (world.facts / "models" / "convlstm.yaml").read_bytes() == before
    refuse("'Their-Model'", world.submit, folder, "Their-Model")


def test_a_refused_submission_leaves_nothing(world, submit, dots):
    refuse("sample 0 ", submit, "dots", np.full_like(dots, np.nan))
    assert not (world.folder / "raw" / "external").exists()
    assert not (world.facts / "models" / "theirs.yaml").exists()


# Later, when a cell is made


def test_bytes_that_changed_since_the_import_are_refused(world, submit, dots):
    done = submit("dots", dots)
    (file,) = done.submission.release.files
    path = world.folder / "raw" / file.path
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    plan = world.plan("theirs")
    cell = next(one for one in plan.cells if one.cell.model == "theirs")
    lock = cell.predictions.inputs["external"].lock
    refuse(path.name, runner.fetch, plan, plan.raw_of(lock))
    path.unlink()
    refuse(path.name, runner.fetch, plan, plan.raw_of(lock))


def test_cells_name_the_prepared_data_that_no_longer_show_what_was_predicted(
    world, submit, dots, monkeypatch
):
    submit("dots", 0.9 * dots)  # nobody else has these bytes, so the cell is yet to be made
    monkeypatch.setattr("stp.predict.imported.window_checksum", lambda frames: "f" * 16)
    refuse("windows", made, world)


def test_forecasts_of_another_shape_or_type_are_refused(tmp_path):
    recipe = {"predict": {"samples": 2}, "lead_times": 3}
    data, path = SimpleNamespace(shape=(1, 4, 5)), tmp_path / "forecasts.npy"
    right = np.zeros((6, 2, 3, 1, 4, 5), np.float32)

    def opened(forecasts: np.ndarray) -> np.ndarray:
        np.save(path, forecasts)
        return imported._open(path, recipe, data, range(6))

    assert opened(right).shape == right.shape
    more = np.concatenate([right, right])
    for wrong in (more, right[:5], right[:, :1], right[:, 0], right[..., :4], right.astype("f8")):
        with pytest.raises(StpError, match=r"forecasts\.npy"):
            opened(wrong)
