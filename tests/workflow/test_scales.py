"""The demo and the sample scale, as people run them: the real command, the real configuration."""

import json
import os
import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import yaml
from asking import csv_rows
from checkout import TABLE, Checkout

from stp.data.prepared import Prepared

pytestmark = [pytest.mark.slow, pytest.mark.long(part="demo")]


def rows(checkout: Checkout, name: str = TABLE) -> list[dict[str, str]]:
    return csv_rows(checkout.folder / name)


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Checkout:
    """The demo, made by the literal command of the README."""
    folder = tmp_path_factory.mktemp("demo")
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    printed = checkout.succeed("snakemake", "--profile", "local", TABLE, STP_RAW_MIRROR="")
    (checkout.folder / "printed.txt").write_text(printed)
    return checkout


def scores(checkout: Checkout, convention: str) -> pd.DataFrame:
    """Overall values of a convention: one row per dataset, one column per model."""
    with duckdb.connect(str(checkout.folder / "results/results.duckdb"), read_only=True) as store:
        frame = store.execute(
            "select tested_on, model, value from scores"
            " where convention = ? and statistic = 'mean' and lead is null",
            [convention],
        ).df()
    return frame.pivot(index="tested_on", columns="model", values="value")


def test_a_network_beats_every_reference_line(demo):
    """What the README says of the demo, whose LPIPS has no values without weights."""
    with duckdb.connect(str(demo.folder / "results/results.duckdb"), read_only=True) as store:
        ahead = store.execute(
            "select l.tested_on, l.convention, l.model, l.rank from leaderboard l"
            " join models m using (model) join paper_columns p on p.dimension = l.dimension"
            " and p.dataset = l.tested_on and p.convention = l.convention"
            " where l.dimension = 'short_term' and (m.fit != 'sgd' or l.model = 'convlstm')"
            " and l.value is not null"
        ).df()
    assert set(ahead.tested_on) == {"moving_mnist", "kth", "enso"}
    first = ahead.loc[ahead.groupby(["tested_on", "convention"])["rank"].idxmin()]
    assert (first.model == "convlstm").all(), ahead


def test_the_table_has_a_row_for_every_cell_and_marks_each(demo):
    table = rows(demo)
    assert [(row["dataset"], row["model"]) for row in table[:5]] == [
        ("Moving-MNIST", "Persistence"),
        ("Moving-MNIST", "Climatology"),
        ("Moving-MNIST", "Context mean"),
        ("Moving-MNIST", "ConvLSTM"),
        ("Moving-MNIST", "SimVPv2"),
    ]
    assert len(table) == 15
    assert list(table[0])[:4] == ["source", "scale", "protocol", "comparable"]
    for row in table:
        assert (row["source"], row["scale"], row["comparable"]) == ("synthetic", "demo", "NO")
        assert row["notes"].startswith("NOT COMPARABLE: synthetic data, demo protocol")
        assert row["SSIM difference"] == row["RMSE difference"] == ""
    convlstm = table[3]
    assert convlstm["SSIM published"] == "0.929"  # PredBench, Table 2
    assert convlstm["LPIPS"] == ""
    assert "LPIPS: the weights of alexnet" in convlstm["notes"]


def test_intervals_hold_their_value_and_count_clusters(demo):
    found = rows(demo, "results/demo/tables/short_term_tidy.csv")
    ssim = [row for row in found if row["column"] == "SSIM"]
    assert len(ssim) == 10
    for row in ssim:
        assert float(row["ci95_low"]) < float(row["value"]) < float(row["ci95_high"])
    clusters = {row["dataset_title"]: int(row["clusters"]) for row in ssim}
    # each Moving-MNIST clip is its own cluster; KTH: persons 17-22 times two actions
    assert clusters == {"Moving-MNIST": 128, "KTH": 12}


def test_the_run_shows_progress_and_where_things_are(demo):
    printed = (demo.folder / "printed.txt").read_text()
    assert "[42/42] demo scale: prepare 3/3, predict 15/15, score 15/15, train 9/9" in printed
    assert "train    convlstm on kth, seed 0: done in" in printed
    assert "left for the rest" in printed
    for place in ("table: results/demo/tables", "store:", "logs: results/demo/logs"):
        assert place in printed


def test_the_queries_of_the_guide_answer(demo):
    text = (demo.folder / "docs" / "guide.md").read_text()
    queries = text.partition("```sql\n")[2].partition("```")[0].split("\n\n")
    assert len(queries) >= 5
    for query in queries:
        answer = demo.run("stp", "query", query.strip())
        assert answer.returncode == 0, answer.stdout
        assert len(answer.stdout.splitlines()) > 3, query


def test_a_number_leads_back_to_its_bytes(demo):
    """From a score to predictions, model, data and the checksums of the raw files."""
    answer = demo.run(
        "stp", "query", "-f", "json",
        "select scores_folder from cells where model = 'convlstm' and tested_on = 'kth'",
    )  # fmt: skip
    folder = Path(json.loads(answer.stdout[answer.stdout.index("[") :])[0]["scores_folder"])
    seen = []
    while folder.is_dir():
        receipt = json.loads((folder / "artefact.json").read_text())
        seen.append(receipt["stage"])
        following = receipt["inputs"].get("predictions") or receipt["inputs"].get("model")
        following = following or receipt["inputs"].get("data") or receipt["inputs"]["raw"]
        folder = demo.store / following
    assert seen == ["score", "predict", "train", "prepare"]
    lock = json.loads(folder.read_text())
    assert lock["source"] == "synthetic" and "kth/00sequences.txt" in lock["files"]


def test_predictions_open_in_plain_xarray(demo):
    import xarray

    path = next(demo.store.glob("predictions/predbench/short_term/convlstm/**/enso/**/*.zarr"))
    opened = xarray.open_zarr(path, consolidated=False)
    # 118 test windows, 14 months ahead, on the 24 x 48 grid
    assert dict(opened.predictions.sizes) == {
        "sample": 118, "lead": 14, "channel": 1, "y": 24, "x": 48,
    }  # fmt: skip
    assert opened.predictions.dtype == "float32"
    assert list(opened.lead.values) == list(range(1, 15))


ALL = "results/{scale}/data/all"


def prepared(checkout: Checkout, source: str) -> dict[str, Prepared]:
    """All datasets that the table names, opened; each must say whose bytes they are."""
    scale = "demo" if source == "synthetic" else source
    table = (
        (checkout.folder / ALL.format(scale=scale))
        .read_text()
        .partition("\n\n")[2]
        .partition("\n\n")[0]
    )
    found = {}
    for line in table.splitlines()[2:]:
        name, says, folder = line.split()[0], line.split()[1], line.split()[-1]
        data = Prepared(checkout.store / folder)
        assert says == data.attrs["source"] == source
        found[name] = data
    return found


def test_all_fifteen_datasets_are_prepared(demo):
    """The other twelve, from their official raw formats; those of the demo are there already."""
    demo.succeed("snakemake", "--profile", "local", ALL.format(scale="demo"), STP_RAW_MIRROR="")
    found = prepared(demo, "synthetic")
    paper = yaml.safe_load((demo.folder / "config/paper.yaml").read_text())
    trained_on = paper["dimensions"]["short_term"]["datasets"]
    assert sorted(found) == sorted([*trained_on, "caltech"])
    assert len(found) == 15
    for name, data in found.items():
        splits = ["test"] if name == "caltech" else ["train", "val", "test"]
        for split in splits:
            clips = data.clips(split)
            assert len(clips) > 0, (name, split)
            frames = clips.read([0, len(clips) - 1])
            assert frames.shape == (2, data.context + data.horizon, *data.shape), name
            assert np.isfinite(frames).all() and frames.std() > 0, (name, split)
    again = demo.run(
        "snakemake", "--profile", "local", "-n", ALL.format(scale="demo"), STP_RAW_MIRROR=""
    )
    assert "Nothing to be done" in again.stdout


@pytest.mark.sample_bytes
def test_all_samples_are_prepared(raw_mirror, tmp_path):
    checkout = Checkout.create(tmp_path / "checkout", tmp_path / "shared")
    checkout.succeed(
        "snakemake", "--profile", "local", "--configfile", "config/sample.yaml",
        "--", ALL.format(scale="sample"),
        STP_RAW_MIRROR=os.path.relpath(raw_mirror, checkout.folder),
    )  # fmt: skip
    found = prepared(checkout, "sample")
    assert {"moving_mnist", "kth", "enso", "robonet", "bridge", "kitti"} <= set(found)
    for name, data in found.items():
        frames = data.clips("test").read([0])
        assert frames.std() > 0, name


@pytest.mark.sample_bytes
def test_real_bytes_go_the_whole_way(raw_mirror, tmp_path):
    """config/sample.yaml: real MNIST digits, KTH videos and sea surface temperatures."""
    checkout = Checkout.create(tmp_path / "checkout", tmp_path / "shared")
    mirror = os.path.relpath(raw_mirror, checkout.folder)
    scale = checkout.folder / "config/sample.yaml"  # CI has two cores
    fewer, changed = re.subn(r"epochs: [234]\b", "epochs: 1", scale.read_text())
    assert changed
    scale.write_text(fewer)
    checkout.make(config="config/sample.yaml", STP_RAW_MIRROR=mirror)
    table = rows(checkout)
    assert len(table) == 15
    for row in table:
        assert (row["source"], row["comparable"]) == ("sample", "NO")
        assert ("LEAKY SPLIT" in row["notes"]) == (row["dataset"] == "KTH")
    # Too few clusters in three videos and in 38 months: no intervals, and it says why.
    intervals = rows(checkout, "results/sample/tables/short_term_tidy.csv")
    for row in intervals:
        if row["tested_on"] in ("kth", "enso") and row["value"]:
            assert row["ci95_low"] == row["p"] == "" and "clusters" in row["reason"]
    assert not (tmp_path / "shared" / "raw" / "kth").exists(), "the mirror is read in place"
    error = scores(checkout, "mse.pixel_mean")
    assert error.notna().all().all()
    assert checkout.snakemake("-n", config="config/sample.yaml").returncode == 0
