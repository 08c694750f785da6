"""Tables: exact text of small cases, markers, gaps."""

import csv
from pathlib import Path

import pytest
from small_store import SmallStore

from stp.collect.database import build
from stp.collect.scores import collect
from stp.errors import StpError
from stp.render.table import render_partial, render_table


@pytest.fixture
def store(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path)


def build_database(store: SmallStore, manifest: Path) -> Path:
    """Collect the scores and build the results store."""
    rows, database = store.folder / "short_term.parquet", store.folder / "results.duckdb"
    collect(manifest, rows)
    build([manifest], [rows], database)
    return database


def render(store: SmallStore) -> Path:
    """Collect and render; return the folder of the three files."""
    manifest = store.write()
    database = build_database(store, manifest)
    out = store.folder / "tables" / "short_term.csv"
    render_table(manifest, database, out)
    return out.parent


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_small_table_word_by_word(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5, "n": 40}})
    # Two seeds: mean (0.87 + 0.89) / 2 = 0.88, sample standard deviation 0.02 / sqrt(2);
    # the bounds are the means (0.86 + 0.88) / 2 = 0.87 and (0.885 + 0.915) / 2 = 0.9.
    for seed, mean, low, high in [(0, 0.87, 0.86, 0.885), (1, 0.89, 0.88, 0.915)]:
        ssim = {"mean": mean, "low": low, "high": high, "n": 40, "clusters": 12}
        store.add("convlstm", "moving_mnist", {"ssim.range2": ssim}, seed=seed)
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.625, "n": 7}}, seed=0)
    folder = render(store)
    # Published (PredBench): ConvLSTM on Moving-MNIST SSIM 0.929, LPIPS 0.0734; ICAR-ENSO RMSE
    # 0.4158. Persistence is not in the paper. Nothing is comparable, so there are no differences.
    marker = "NOT COMPARABLE: synthetic bytes, demo protocol"
    lpips = "LPIPS: metric not available yet"
    assert (folder / "short_term.csv").read_text() == (
        "source,scale,protocol,comparable,dataset,model,seeds,n,"
        "SSIM,SSIM published,SSIM difference,LPIPS,LPIPS published,LPIPS difference,"
        "RMSE,RMSE published,RMSE difference,notes\n"
        "synthetic,demo,demo,NO,Moving-MNIST,Persistence,,40,"
        f'0.5,,,,,,,,,"{marker}; {lpips}"\n'
        "synthetic,demo,demo,NO,Moving-MNIST,ConvLSTM,2,40,"
        f'0.88,0.929,,,0.0734,,,,,"{marker}; {lpips}"\n'
        f'synthetic,demo,demo,NO,ICAR-ENSO,ConvLSTM,1,7,,,,,,,0.625,0.4158,,"{marker}"\n'
    )
    assert (folder / "short_term_intervals.csv").read_text() == (
        "source,scale,dataset,model,column,convention,value,ci95_low,ci95_high,clusters,seeds,"
        "seed_sd,reason\n"
        "synthetic,demo,Moving-MNIST,Persistence,SSIM,ssim.range2,0.5,,,,,,not scored\n"
        "synthetic,demo,Moving-MNIST,Persistence,LPIPS,lpips.alex,,,,,,,metric not available yet\n"
        "synthetic,demo,Moving-MNIST,ConvLSTM,SSIM,ssim.range2,0.88,0.87,0.9,12,2,0.01414213562,\n"
        "synthetic,demo,Moving-MNIST,ConvLSTM,LPIPS,lpips.alex,,,,,2,,metric not available yet\n"
        "synthetic,demo,ICAR-ENSO,ConvLSTM,RMSE,rmse.per_frame,0.625,,,,1,,not scored\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == [
        "short_term.csv",
        "short_term.md",
        "short_term_intervals.csv",
    ]


def test_difference_only_for_official_bytes_under_the_papers_protocol(store: SmallStore) -> None:
    store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0, official=True)
    store.add(
        "convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0, variant="released"
    )
    official, other = read(render(store) / "short_term.csv")
    # 0.9 - 0.929 = -0.029
    assert official["comparable"] == "yes"
    assert official["SSIM difference"] == "-0.029"
    assert official["notes"] == "LPIPS: metric not available yet"
    assert other["comparable"] == "NO"
    assert other["SSIM published"] == "0.929"
    assert other["SSIM difference"] == ""
    # Rows of one dataset and model say what they differ in.
    assert official["model"] == "ConvLSTM [variant default]"
    assert other["model"] == "ConvLSTM [variant released]"


def test_misprinted_value_is_shown_with_its_note_and_without_difference(store: SmallStore) -> None:
    store.add("simvpv2", "cityscapes", {"ssim.range2": {"mean": 0.9}}, seed=0, official=True)
    (row,) = read(render(store) / "short_term.csv")
    assert row["comparable"] == "yes"
    assert row["SSIM published"] != ""
    assert row["SSIM difference"] == ""
    assert row["notes"].startswith("published SSIM: row identical to PredRNNv2")


def test_leaky_split_and_subset_note_are_marked(store: SmallStore) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}}, leaky=True)
    cell["subset_note"] = "first 40 clips"
    (row,) = read(render(store) / "short_term.csv")
    assert row["notes"] == (
        "NOT COMPARABLE: synthetic bytes, demo protocol; "
        "LEAKY SPLIT: test samples overlap with training data; first 40 clips"
    )


def test_official_bytes_without_checksums_are_called_unverified(store: SmallStore) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}}, official=True)
    cell |= {"official_paper_protocol": False, "verified": False}
    (row,) = read(render(store) / "short_term.csv")
    assert row["notes"] == "NOT COMPARABLE: unverified official bytes, paper protocol"


def test_null_keeps_its_reason(store: SmallStore) -> None:
    few = "4 clusters: too few for an interval"
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": None, "reason": "clip too short"}})
    interval = {"mean": 0.5, "low": None, "high": None, "clusters": 4, "ci_reason": few}
    store.add("convlstm", "enso", {"rmse.per_frame": interval}, seed=0)
    folder = render(store)
    first, second = read(folder / "short_term.csv")
    assert first["RMSE"] == ""
    assert first["notes"].endswith("; RMSE: clip too short")
    assert second["notes"] == "NOT COMPARABLE: synthetic bytes, demo protocol"
    intervals = read(folder / "short_term_intervals.csv")
    assert [row["reason"] for row in intervals] == ["clip too short", few]
    assert [row["clusters"] for row in intervals] == ["", "4"]


def test_one_seed_without_value_leaves_the_mean_without(store: SmallStore) -> None:
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.5}}, seed=0)
    diverged = {"mean": None, "reason": "predictions are not finite"}
    store.add("convlstm", "enso", {"rmse.per_frame": diverged}, seed=1)
    (row,) = read(render(store) / "short_term.csv")
    assert (row["RMSE"], row["seeds"]) == ("", "2")
    assert "RMSE: predictions are not finite" in row["notes"]


def test_column_of_a_variable_takes_the_rows_and_the_setting_of_that_variable(
    store: SmallStore,
) -> None:
    # The helper writes one variable per convention, so t850 stays unavailable here.
    t2m = {"mean": 2.5, "variable": "t2m"}
    store.add("convlstm", "weatherbench", {"wrmse.per_frame": t2m}, seed=0, official=True)
    store.manifest["tables"]["short_term"]["columns"]["weatherbench"] = {
        "t2m WRMSE": "wrmse.per_frame"
    }
    (row,) = read(render(store) / "short_term.csv")
    published = float(row["t2m WRMSE published"])
    assert row["t2m WRMSE"] == "2.5"
    assert float(row["t2m WRMSE difference"]) == pytest.approx(2.5 - published)


def test_only_variable_of_a_dataset_stands_for_all(store: SmallStore) -> None:
    rmse = {"mean": 0.5, "low": 0.4, "high": 0.6, "variable": "sst"}
    store.add("persistence", "enso", {"rmse.per_frame": rmse})
    folder = render(store)
    (row,) = read(folder / "short_term.csv")
    assert row["RMSE"] == "0.5"
    (interval,) = read(folder / "short_term_intervals.csv")
    assert (interval["ci95_low"], interval["ci95_high"]) == ("0.4", "0.6")


def test_training_elsewhere_is_part_of_the_dataset(store: SmallStore) -> None:
    rmse = {"rmse.per_frame": {"mean": 1.0}}
    store.add("convlstm", "enso", rmse, seed=0, trained_on="moving_mnist")
    (row,) = read(render(store) / "short_term.csv")
    assert row["dataset"] == "Moving-MNIST -> ICAR-ENSO"


def test_markdown_of_a_small_table(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.51239}})
    store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0)
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 12345.6}}, seed=0, official=True)
    text = (render(store) / "short_term.md").read_text()
    lines = text.splitlines()
    assert lines[0] == "# Table short_term, scale demo"
    assert any(line.startswith("> **WARNING: 2 of 3 rows are NOT COMPARABLE") for line in lines)
    assert "PARTIAL" not in text
    mnist = lines.index("## Moving-MNIST")
    enso = lines.index("## ICAR-ENSO")
    assert lines[mnist + 2] == (
        "| source | scale | protocol | comparable | model | seeds | n | SSIM ↑ | (published) "
        "| LPIPS ↓ | (published) | notes |"
    )
    # Four significant digits; 0.9 is the better SSIM; the paper prints 0.9290.
    assert "| **NO** | Persistence | – | 200 | 0.5124 |  | – |  |" in lines[mnist + 4]
    assert (
        "| **NO** | ConvLSTM | 1 | 200 | **0.9000** | (0.9290) | – | (0.0734) |" in lines[mnist + 5]
    )
    # A single row is no contest: not bold. The paper prints 0.4158; 12345.6 - 0.4158 = 12345.18.
    assert "| yes | ConvLSTM | 1 | 200 | 12346 | (0.4158; +12345) |  |" in lines[enso + 4]
    assert "- SSIM ↑: `ssim.range2`, Structural similarity: data range 2" in lines
    assert "- RMSE ↓: `rmse.per_frame`" in lines


def test_bold_goes_to_the_best_of_comparable_rows_only(store: SmallStore) -> None:
    for model, value, official in [("a", 3.0, True), ("b", 2.0, True), ("c", 1.0, False)]:
        rmse = {"rmse.per_frame": {"mean": value}}
        store.add(model, "enso", rmse, seed=0, official=official)
    text = (render(store) / "short_term.md").read_text()
    # 1.0 is on other bytes and has no rival; lower is better between 3.0 and 2.0.
    assert "**2.000**" in text
    assert "**1.000**" not in text and "**3.000**" not in text


def test_table_without_all_rows_is_refused(store: SmallStore) -> None:
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    database = build_database(store, store.write())
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 1.0}}, seed=4)
    out = store.folder / "tables" / "short_term.csv"
    with pytest.raises(StpError, match="not complete") as caught:
        render_table(store.write(), database, out)
    assert "model convlstm" in caught.value.what and "seed 4: no rows" in caught.value.what
    assert not out.parent.exists()


def test_rows_of_older_scores_do_not_count(store: SmallStore) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    database = build_database(store, store.write())
    cell["scores"] = cell["scores"].replace("a000000000000000", "f" * 16)
    with pytest.raises(StpError, match="no rows"):
        render_table(store.write(), database, store.folder / "short_term.csv")


def test_table_without_a_column_is_refused(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", {"mse.pixel_sum": {"mean": 1.0}})
    with pytest.raises(StpError, match=r"no overall value of SSIM \(ssim\.range2\)"):
        render(store)


def test_unknown_table_and_bad_rows_are_refused(store: SmallStore) -> None:
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    manifest, out = store.write(), store.folder / "long_term.csv"
    with pytest.raises(StpError, match=r"results\.duckdb is missing"):
        render_table(manifest, store.folder / "results.duckdb", out)
    database = build_database(store, manifest)
    with pytest.raises(StpError, match="no table 'long_term'"):
        render_table(manifest, database, out, table="long_term")
    database.write_bytes(database.read_bytes()[:5000])
    with pytest.raises(StpError, match="cannot be read"):
        render_table(manifest, database, out)


def test_partial_table_shows_what_exists_and_why_the_rest_does_not(store: SmallStore) -> None:
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.5}}, seed=0)
    store.add("convlstm", "enso", {}, seed=1, scored=False)
    failed = store.add("convlstm", "moving_mnist", {}, seed=0, scored=False)
    damaged = store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})
    (Path(damaged["scores"]) / "scores.parquet").write_bytes(b"")
    model = Path(failed["model"]).relative_to(store.folder / "store").as_posix()
    error = "loss is not finite\nremedy: a lower rate"
    out = store.folder / "partial"
    missing = render_partial(store.write(), {model: {"error": error, "log": "logs/x.log"}}, out)
    assert missing == [
        "short_term/predbench/default/convlstm/enso/seed-1",
        "short_term/predbench/default/convlstm/moving_mnist/seed-0",
        "short_term/predbench/default/persistence/moving_mnist/seed-None",
    ]
    persistence, convlstm, broken, bad = read(out / "short_term.csv")
    marker = "NOT COMPARABLE: synthetic bytes, demo protocol"
    assert persistence["notes"] == marker
    # One of two seeds is there: its value is shown, and the other is reported.
    assert (convlstm["RMSE"], convlstm["seeds"]) == ("0.5", "1")
    assert convlstm["notes"] == f"{marker}; seed 1: missing"
    assert (broken["SSIM"], broken["SSIM published"], broken["n"]) == ("", "0.929", "")
    assert broken["notes"] == f"{marker}; seed 0: failed: loss is not finite (log: logs/x.log)"
    assert bad["notes"].startswith(f"{marker}; not usable: {damaged['scores']}/scores.parquet")
    text = (out / "short_term.md").read_text()
    assert text.startswith("# Partial table short_term, scale demo\n")
    assert "> **PARTIAL: some cells are missing; see the notes.**" in text
    assert len(read(out / "short_term_intervals.csv")) == 6


def test_partial_table_of_nothing(store: SmallStore) -> None:
    store.add("convlstm", "enso", {}, seed=0, scored=False)
    path = "short_term/predbench/default/convlstm/enso/seed-0"
    out = store.folder / "partial"
    assert render_partial(store.write(), {path: {"error": "time limit", "log": None}}, out) == [
        path
    ]
    (row,) = read(out / "short_term.csv")
    assert row["notes"].endswith("; seed 0: failed: time limit")


def test_a_column_may_show_one_threshold(store: SmallStore) -> None:
    """PredBench's Table 16 has a column for each threshold of one convention."""
    store.manifest["tables"]["short_term"]["columns"]["sevir"] = {
        "CSI-M": "csi.mean",
        "CSI-16": "csi.mean@16",
        "CSI-219": "csi.mean@219",
    }
    csi = {"mean": 0.4, "thresholds": {16: 0.75, 219: 0.05}}
    store.add("convlstm", "sevir", {"csi.mean": csi})
    (row,) = read(render(store) / "short_term.csv")
    assert [row[column] for column in ("CSI-M", "CSI-16", "CSI-219")] == ["0.4", "0.75", "0.05"]


def test_a_threshold_without_rows_is_a_gap(store: SmallStore) -> None:
    store.manifest["tables"]["short_term"]["columns"]["sevir"] = {"CSI-74": "csi.mean@74"}
    store.add("convlstm", "sevir", {"csi.mean": {"mean": 0.4, "thresholds": {16: 0.75}}})
    with pytest.raises(StpError, match=r"no overall value of CSI-74 \(csi\.mean\)"):
        render(store)
