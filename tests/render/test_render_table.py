"""Tables: exact text of small cases, markers, gaps."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from asking import csv_rows
from latex import complaints, needs_latex
from small_store import PUBLISHED, SmallStore, built, convention_facts, table_column
from toy_scored import write_scored

from stp.core.errors import StpError
from stp.render.tables.paper_table import render_partial, render_table
from stp.render.tables.tidy import HEADER
from stp.run.failures import Failure


@pytest.fixture
def store(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path, PUBLISHED)


def render(store: SmallStore) -> Path:
    """Collect and render; return the folder of its files."""
    out = store.folder / "tables" / "short_term.csv"
    render_table(store.write(), built(store), out)
    return out.parent


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
    marker = "NOT COMPARABLE: synthetic data, demo protocol"
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
    tidy = csv_rows(folder / "short_term_tidy.csv")
    assert list(tidy[0]) == list(HEADER)
    ssim, lpips_, rmse = tidy[2:]
    assert ssim == {
        "source": "synthetic",
        "scale": "demo",
        "protocol": "demo",
        "comparable": "NO",
        "suite": "predbench",
        "dimension": "short_term",
        "model": "convlstm",
        "variant": "default",
        "trained_on": "moving_mnist",
        "train_subset": "all",
        "tested_on": "moving_mnist",
        "subset": "test",
        "setting": "horizon-10",
        "dataset_title": "Moving-MNIST",
        "model_title": "ConvLSTM",
        "column": "SSIM",
        "convention": "ssim.range2",
        "variable": "",
        "threshold": "",
        "leads": "",
        "value": "0.88",
        "ci95_low": "0.87",
        "ci95_high": "0.9",
        "clusters": "12",
        "n": "40",
        "seeds": "2",
        "seed_sd": "0.01414213562",
        "samples": "1",
        "statistic": "",
        "rank": "1",
        "best": "ConvLSTM",
        "p": "",
        "p_corrected": "",
        "p_reason": "",
        "published": "0.929",
        "difference": "",
        "reason": "",
        **{"people": "", "sd": "", "published_sd": ""},  # of people only
    }
    assert (lpips_["value"], lpips_["reason"]) == ("", "metric not available yet")
    assert (rmse["value"], rmse["rank"], rmse["reason"]) == ("0.625", "", "not scored")
    # Persistence is the other rival; this store has no sums over clusters.
    assert (tidy[0]["rank"], tidy[0]["best"], tidy[0]["p"]) == ("2", "ConvLSTM", "")
    assert tidy[0]["p_reason"] == "no sums over clusters of clips"
    assert sorted(path.name for path in folder.iterdir()) == [
        "short_term.csv",
        "short_term.html",
        "short_term.md",
        "short_term.tex",
        "short_term_tidy.csv",
    ]


def test_difference_only_for_official_bytes_under_the_papers_protocol(store: SmallStore) -> None:
    store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0, official=True)
    store.add(
        "convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0, variant="released"
    )
    official, other = csv_rows(render(store) / "short_term.csv")
    # 0.9 - 0.929 = -0.029
    assert official["comparable"] == "yes"
    assert official["SSIM difference"] == "-0.029"
    assert "NOT COMPARABLE" not in official["notes"]
    assert other["comparable"] == "NO"
    assert other["SSIM published"] == "", "of no variant that the paper names"
    assert other["SSIM difference"] == ""
    # Rows of one dataset and model say what they differ in.
    assert official["model"] == "ConvLSTM [variant default]"
    assert other["model"] == "ConvLSTM [variant released]"


@pytest.mark.long(part="kinds")
def test_misprinted_value_is_shown_with_its_note_and_without_difference(store: SmallStore) -> None:
    store.add("simvpv2", "cityscapes", {"ssim.range2": {"mean": 0.9}}, seed=0, official=True)
    (row,) = csv_rows(render(store) / "short_term.csv")
    assert row["comparable"] == "yes"
    assert row["SSIM published"] != ""
    assert row["SSIM difference"] == ""
    assert "PredRNNv2" in row["notes"]


@pytest.mark.long(part="kinds")
def test_leaky_split_subset_and_unverified_files_are_marked(store: SmallStore) -> None:
    rmse = {"rmse.per_frame": {"mean": 1.0}}
    cell = store.add("persistence", "enso", rmse, leaky=True)
    cell["subset_note"] = "first 40 clips"
    store.add("convlstm", "enso", rmse, official=True, seed=0)
    store.lock("enso", declared=False)
    leaky, unverified = csv_rows(render(store) / "short_term.csv")
    for part in ("NOT COMPARABLE", "LEAKY SPLIT", "first 40 clips"):
        assert part in leaky["notes"]
    assert "unverified official data" in unverified["notes"]
    assert (unverified["comparable"], unverified["RMSE difference"]) == ("NO", "")


def test_differences_by_counts_are_given_and_marked(store: SmallStore) -> None:
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 1.0}}, official=True, seed=0)
    store.lock("enso", declared=False, clips=1667)
    (row,) = csv_rows(render(store) / "short_term.csv")
    assert row["comparable"] == "by counts" and float(row["RMSE difference"]) != 0
    assert "BY COUNTS" in row["notes"]


@pytest.mark.long(part="kinds")
def test_rows_of_an_incomplete_release_say_what_it_lacks(store: SmallStore) -> None:
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 1.0}}, official=True, seed=0)
    lock = store.folder / "store" / "raw" / "enso" / "official.lock.json"
    lock.write_text(json.dumps({**json.loads(lock.read_text()), "incomplete": ["b.npy (missing)"]}))
    (row,) = csv_rows(render(store) / "short_term.csv")
    assert (row["comparable"], row["RMSE difference"]) == ("NO", "")
    assert row["notes"].endswith("; INCOMPLETE RELEASE of enso: b.npy (missing)")


def test_null_keeps_its_reason(store: SmallStore) -> None:
    few = "4 clusters: too few for an interval"
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": None, "reason": "clip too short"}})
    interval = {"mean": 0.5, "low": None, "high": None, "clusters": 4, "ci_reason": few}
    store.add("convlstm", "enso", {"rmse.per_frame": interval}, seed=0)
    folder = render(store)
    first, second = csv_rows(folder / "short_term.csv")
    assert first["RMSE"] == ""
    assert first["notes"].endswith("; RMSE: clip too short")
    assert second["notes"] == "NOT COMPARABLE: synthetic data, demo protocol"
    intervals = csv_rows(folder / "short_term_tidy.csv")
    assert [row["reason"] for row in intervals] == ["clip too short", few]
    assert [row["clusters"] for row in intervals] == ["", "4"]


@pytest.mark.long(part="kinds")
def test_one_seed_without_value_leaves_the_mean_without(store: SmallStore) -> None:
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.5}}, seed=0)
    diverged = {"mean": None, "reason": "predictions are not finite"}
    store.add("convlstm", "enso", {"rmse.per_frame": diverged}, seed=1)
    (row,) = csv_rows(render(store) / "short_term.csv")
    assert (row["RMSE"], row["seeds"]) == ("", "2")
    assert "RMSE: predictions are not finite" in row["notes"]


def test_column_of_a_variable_takes_the_rows_and_the_setting_of_that_variable(
    store: SmallStore,
) -> None:
    # The helper writes one variable per convention, so t850 stays unavailable here.
    t2m = {"mean": 2.5, "variable": "t2m"}
    store.add("convlstm", "weatherbench", {"wrmse.per_frame": t2m}, seed=0, official=True)
    store.manifest["tables"]["short_term"]["columns"]["weatherbench"] = [
        table_column("WRMSE", "wrmse.per_frame", variable="t2m")
    ]
    (row,) = csv_rows(render(store) / "short_term.csv")
    published = float(row["t2m WRMSE published"])
    assert row["t2m WRMSE"] == "2.5"
    assert float(row["t2m WRMSE difference"]) == pytest.approx(2.5 - published)


@pytest.mark.long(part="kinds")
def test_only_variable_of_a_dataset_stands_for_all(store: SmallStore) -> None:
    rmse = {"mean": 0.5, "low": 0.4, "high": 0.6, "variable": "sst"}
    store.add("persistence", "enso", {"rmse.per_frame": rmse})
    folder = render(store)
    (row,) = csv_rows(folder / "short_term.csv")
    assert row["RMSE"] == "0.5"
    (interval,) = csv_rows(folder / "short_term_tidy.csv")
    assert (interval["ci95_low"], interval["ci95_high"]) == ("0.4", "0.6")


@pytest.mark.long(part="kinds")
def test_training_elsewhere_is_part_of_the_dataset(store: SmallStore) -> None:
    rmse = {"rmse.per_frame": {"mean": 1.0}}
    store.add("convlstm", "enso", rmse, seed=0, trained_on="moving_mnist")
    (row,) = csv_rows(render(store) / "short_term.csv")
    assert row["dataset"] == "Moving-MNIST -> ICAR-ENSO"


def test_markdown_of_a_small_table(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.51239}})
    store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0)
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 12345.6}}, seed=0, official=True)
    folder = render(store)
    text = (folder / "short_term.md").read_text()
    lines = text.splitlines()
    assert "PARTIAL" not in text
    mnist = lines.index("## Moving-MNIST")
    enso = lines.index("## ICAR-ENSO")
    # What all rows have in common is said once.
    everything = "source synthetic, scale demo, protocol demo, comparable NO, n 200."
    assert lines[mnist + 2] == f"All rows: {everything}"
    # Four significant digits; 0.9 is the better SSIM; the paper prints 0.9290.
    assert lines[mnist + 4 : mnist + 8] == [
        "| model | seeds | SSIM ↑ | LPIPS ↓ |",
        "| --- | ---: | ---: | ---: |",
        "| Persistence | – | 0.5124 | – |",
        "| ConvLSTM | 1 | **0.9000** (0.9290) | – (0.0734) |",
    ]
    # A single row is no contest: not bold. The paper prints 0.4158; 12345.6 - 0.4158 = 12345.18.
    assert "| ConvLSTM | 1 | 12346 (0.4158; +12345) |" in lines[enso:]
    assert "- All rows: LPIPS: metric not available yet" in lines[mnist:enso]
    assert "- SSIM ↑: `ssim.range2`, Structural similarity: data range 2" in lines
    assert "- RMSE ↓: `rmse.per_frame`" in lines
    # All formats say the same.
    latex, html = ((folder / f"short_term.{kind}").read_text() for kind in ("tex", "html"))
    assert r"ConvLSTM & 1 & \textbf{0.9000} & (0.9290) & -- & (0.0734) \\" in latex
    assert "<strong>0.9000</strong>" in html
    for page in (text, latex, html):
        assert "2 of 3 rows are NOT COMPARABLE" in page
        assert "source synthetic, scale demo" in page


@pytest.mark.long(part="kinds")
def test_nothing_of_a_paper_stands_in_a_table_of_ones_own_data(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})["source"] = "own"
    told = {"about": "a filter", "paper": "says", "code": "does", "strict": "as the code"}
    store.manifest["deviations"] = [told]
    text = (render(store) / "short_term.md").read_text()
    assert "All rows: own data, demo protocol" in text
    assert text.count("publish") == 1
    assert not [word for word in ("paper", "COMPARABLE", "comparable") if word in text]


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
    database = built(store)
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 1.0}}, seed=4)
    out = store.folder / "tables" / "short_term.csv"
    with pytest.raises(StpError, match="short_term") as caught:
        render_table(store.write(), database, out)
    assert "model convlstm" in caught.value.what and "seed 4" in caught.value.what
    assert not out.parent.exists()


@pytest.mark.long(part="kinds")
def test_rows_of_older_scores_do_not_count(store: SmallStore) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    database = built(store)
    cell["scores"] = cell["scores"].replace("a000000000000000", "f" * 16)
    with pytest.raises(StpError, match="persistence"):
        render_table(store.write(), database, store.folder / "short_term.csv")


def test_table_without_a_column_is_refused(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", {"mse.pixel_sum": {"mean": 1.0}})
    with pytest.raises(StpError, match=r"scores\.parquet.*ssim\.range2"):
        render(store)


def test_unknown_table_and_bad_rows_are_refused(store: SmallStore) -> None:
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    manifest, out = store.write(), store.folder / "long_term.csv"
    with pytest.raises(StpError, match=r"results\.duckdb"):
        render_table(manifest, store.folder / "results.duckdb", out)
    database = built(store)
    store.manifest["tables"] = {"long_term": store.manifest["tables"]["short_term"]}
    with pytest.raises(StpError, match="'short_term'"):
        render_table(store.write(), database, out)
    database.write_bytes(database.read_bytes()[:5000])
    with pytest.raises(StpError, match=r"results\.duckdb"):
        render_table(manifest, database, out)


def test_partial_table_shows_what_exists_and_why_the_rest_does_not(store: SmallStore) -> None:
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.5}}, seed=0)
    store.add("convlstm", "enso", {}, seed=1, scored=False)
    failed = store.add("convlstm", "moving_mnist", {}, seed=0, scored=False)
    damaged = store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})
    (Path(damaged["scores"]) / "scores.parquet").write_bytes(b"")
    model = Path(failed["models"][0]).relative_to(store.folder / "store").as_posix()
    error = "loss is not finite\nremedy: a lower rate"
    out = store.folder / "partial"
    missing = render_partial(store.write(), {model: Failure(error=error, log="logs/x.log")}, out)
    assert missing == [
        "short_term/predbench/default/convlstm/enso/seed-1",
        "short_term/predbench/default/convlstm/moving_mnist/seed-0",
        "short_term/predbench/default/persistence/moving_mnist/seed-None",
    ]
    persistence, convlstm, broken, bad = csv_rows(out / "short_term.csv")
    marker = "NOT COMPARABLE: synthetic data, demo protocol"
    assert persistence["notes"] == marker
    # One of two seeds is there: its value is shown, and the other is reported.
    assert (convlstm["RMSE"], convlstm["seeds"]) == ("0.5", "1")
    assert convlstm["notes"] == f"{marker}; seed 1: missing"
    assert (broken["SSIM"], broken["SSIM published"], broken["n"]) == ("", "0.929", "")
    assert broken["notes"] == f"{marker}; seed 0: failed: loss is not finite (log: logs/x.log)"
    assert bad["notes"].startswith(f"{marker}; not usable: {damaged['scores']}/scores.parquet")
    text = (out / "short_term.md").read_text()
    assert "PARTIAL" in text
    assert len(csv_rows(out / "short_term_tidy.csv")) == 6


def test_partial_table_of_nothing(store: SmallStore) -> None:
    store.add("convlstm", "enso", {}, seed=0, scored=False)
    path = "short_term/predbench/default/convlstm/enso/seed-0"
    out = store.folder / "partial"
    assert render_partial(store.write(), {path: Failure(error="time limit")}, out) == [path]
    (row,) = csv_rows(out / "short_term.csv")
    assert row["notes"].endswith("; seed 0: failed: time limit")


@pytest.mark.long(part="kinds")
def test_a_column_may_show_one_threshold(store: SmallStore) -> None:
    """PredBench's Table 16 has a column for each threshold of one convention."""
    store.manifest["tables"]["short_term"]["columns"]["sevir"] = [
        table_column("CSI-M", "csi.mean"),
        table_column("CSI-16", "csi.mean", threshold=16),
        table_column("CSI-219", "csi.mean", threshold=219),
    ]
    csi = {"mean": 0.4, "thresholds": {16: 0.75, 219: 0.05}}
    store.add("convlstm", "sevir", {"csi.mean": csi})
    (row,) = csv_rows(render(store) / "short_term.csv")
    assert [row[column] for column in ("CSI-M", "CSI-16", "CSI-219")] == ["0.4", "0.75", "0.05"]


@pytest.mark.long(part="kinds")
def test_a_threshold_without_rows_is_a_gap(store: SmallStore) -> None:
    store.manifest["tables"]["short_term"]["columns"]["sevir"] = [
        table_column("CSI-74", "csi.mean", threshold=74)
    ]
    store.add("convlstm", "sevir", {"csi.mean": {"mean": 0.4, "thresholds": {16: 0.75}}})
    with pytest.raises(StpError, match=r"CSI-74 \(csi\.mean\)"):
        render(store)


@pytest.mark.long(part="kinds")
def test_samples_of_a_clip_are_told(store: SmallStore) -> None:
    """The best of ten is no rival of a single forecast, and says what it is."""
    single = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    best = store.add("mcvd", "enso", {"rmse.per_frame": {"mean": 0.5}}, seed=0)
    mean = store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.75}}, seed=0)
    best |= {"samples": 10, "statistic": "best_of_members", "best_of": 10}
    mean |= {"samples": 5, "statistic": "mean_of_members"}
    assert "samples" not in single
    folder = render(store)
    text = (folder / "short_term.md").read_text()
    assert "| mcvd [1] | 1 | 0.5000 |" in text
    assert "| ConvLSTM [2] | 1 | **0.7500** (0.4158) |" in text
    assert "- \\[1\\] 10 samples of each clip, best of\n" in text
    assert "- \\[2\\] 5 samples of each clip, the mean of their scores\n" in text
    tidy = csv_rows(folder / "short_term_tidy.csv")
    assert [(row["samples"], row["statistic"], row["rank"]) for row in tidy] == [
        ("1", "", "2"),
        ("10", "best_of_members", ""),
        ("5", "mean_of_members", "1"),
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "printed"),
    [
        ((256, 256), 256, "| 33.50 (67) |"),
        ((256, 256), 10000, "| 33.50 (67; N = 256) |"),
        ((256, 128), 256, "| 33.50 (67; N = 128) |"),
    ],
)
def test_the_number_of_clips_is_printed_where_it_differs(
    store: SmallStore, ours: tuple[int, int], theirs: int, printed: str
) -> None:
    """A distance between sets depends on it; published are 67 for ConvLSTM on Moving-MNIST."""
    store.manifest["tables"]["short_term"]["columns"]["moving_mnist"] = [
        table_column("FVD", "fvd.with_context")
    ]
    store.manifest["conventions"]["fvd.with_context"] = convention_facts(False, compares_sets=True)
    store.manifest["published_clips"] = {"moving_mnist": theirs}
    for model, seed, n in (("persistence", None, ours[0]), ("convlstm", 0, ours[1])):
        fvd = {"fvd.with_context": {"mean": 33.5 if seed == 0 else 20.0, "n": n}}
        mse = {"mse.pixel_sum": {"mean": 1.0}}
        store.add(model, "moving_mnist", mse, perceptual=fvd, seed=seed)
    folder = render(store)
    assert printed in (folder / "short_term.md").read_text()
    tidy = csv_rows(folder / "short_term_tidy.csv")
    assert [int(row["n"]) for row in tidy] == list(ours)
    # At unequal N neither is better.
    assert [row["rank"] for row in tidy] == (["1", "2"] if ours[0] == ours[1] else ["", ""])


def long_term(folder: Path) -> SmallStore:
    """Two models at eight lead times; the skill of the second column begins at lead time 3."""
    store = SmallStore(folder, PUBLISHED)
    store.manifest["dimension"] = "long_term"
    store.manifest["tables"] = {
        "long_term": {
            "columns": {
                "enso": [
                    table_column("RMSE", "rmse.per_frame"),
                    table_column("skill", "nino34.correlation"),
                    table_column("FVD", "fvd.with_context"),
                ]
            }
        }
    }
    store.manifest["conventions"]["nino34.correlation"] = convention_facts(True)
    for model, seed, worse in (("persistence", None, 0.0), ("convlstm", 0, 0.5)):
        values = {
            "rmse.per_frame": {"mean": 4.5 + worse, "leads": [lead + worse for lead in range(8)]},
            "nino34.correlation": {
                "mean": 0.5,
                "leads": [None, None, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4],
            },
            "fvd.with_context": {"mean": 20.0},
        }
        store.add(model, "enso", values, seed=seed, dimension="long_term")
    return store


def render_leads(store: SmallStore) -> Path:
    manifest = store.write()
    out = store.folder / "tables" / "long_term.csv"
    render_table(manifest, built(store), out)
    return out.parent


def test_long_term_has_values_at_each_lead_time(tmp_path: Path) -> None:
    folder = render_leads(long_term(tmp_path))
    leads = csv_rows(folder / "long_term_leads.csv")
    rmse = [row for row in leads if row["column"] == "RMSE" and row["model"] == "convlstm"]
    assert [int(row["lead"]) for row in rmse] == list(range(1, 9))
    assert [float(row["value"]) for row in rmse] == [lead + 0.5 for lead in range(8)]
    assert {row["rank"] for row in rmse} == {"2"} and {row["seconds"] for row in rmse} == {""}
    skill = {row["lead"] for row in leads if row["column"] == "skill"}
    assert skill == {"3", "4", "5", "6", "7", "8"}
    assert "FVD" not in {row["column"] for row in leads}, "it has one value for all lead times"
    text = (folder / "long_term.md").read_text()
    section = text.partition("## ICAR-ENSO: RMSE ↓ by lead time")[2].splitlines()
    assert section[4:8] == [
        "| model | lead 1 | lead 2 | lead 4 | lead 6 | lead 8 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        "| Persistence | **0.000** | **1.000** | **3.000** | **5.000** | **7.000** |",
        "| ConvLSTM | 0.5000 | 1.500 | 3.500 | 5.500 | 7.500 |",
    ]
    assert "source synthetic, scale demo, protocol demo" in section[2]
    assert "| model | lead 3 | lead 4 | lead 6 | lead 8 |" in text


@needs_latex
def test_values_at_each_lead_time_compile(tmp_path: Path) -> None:
    assert complaints(render_leads(long_term(tmp_path)) / "long_term.tex") == []


@pytest.mark.long(part="kinds")
def test_lead_times_are_given_in_time_where_the_data_tell_it(tmp_path: Path) -> None:
    """Five frames per second: lead time 8 is 1.6 seconds."""
    store = long_term(tmp_path / "long_term")
    clips = np.zeros((3, 9, 1, 4, 4), np.float32)
    toy = write_scored(tmp_path, clips, clips[:, 1:])
    group = toy.root / "data" / "frames.zarr" / "zarr.json"
    described = json.loads(group.read_text())
    described["attributes"]["fps"] = 5
    group.write_text(json.dumps(described))
    # Both cells are of one dataset.
    shutil.copytree(toy.root / "data", store.cells[0]["data"], dirs_exist_ok=True)
    folder = render_leads(store)
    text = (folder / "long_term.md").read_text()
    assert "| model | lead 1 (0.2 seconds) | lead 2 (0.4 seconds) | lead 4 (0.8 seconds)" in text
    leads = csv_rows(folder / "long_term_leads.csv")
    assert {row["seconds"] for row in leads if row["lead"] == "8"} == {"1.6"}
