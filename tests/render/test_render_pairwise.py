"""Two models beside each other, and a printed number followed back: `stp compare`, `stp trace`."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asking import ask
from scipy import stats
from small_store import SmallStore, rebuilt, table_column
from typer.testing import CliRunner

from stp.cli import app
from stp.collect import trace
from stp.collect.refresh import collect_dimension
from stp.core.errors import StpError
from stp.render.tables.pairwise import compare, grid
from stp.score.tables import write_clusters

CLUSTERS = 20
RNG = np.random.default_rng(3)
BASE = RNG.normal(0.7, 0.1, CLUSTERS)
SCORES = {
    "persistence": BASE,
    "convlstm": BASE + RNG.normal(0.02, 0.01, CLUSTERS),  # better on nearly every clip
    "simvpv2": BASE + RNG.normal(0, 0.05, CLUSTERS),  # no better, no worse
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SSIM of three models on twenty videos of one clip each."""
    folder = tmp_path_factory.mktemp("pairwise")
    store = SmallStore(folder)
    for model, values in SCORES.items():
        seed = None if model == "persistence" else 0
        scored = {"ssim.range2": {"mean": float(values.mean()), "leads": [float(values.mean())]}}
        cell = store.add(model, "moving_mnist", scored, seed=seed)
        names = [f"video{n}" for n in range(CLUSTERS)]
        sums = {"ssim.range2": values.reshape(CLUSTERS, 1, 1)}
        ones = np.ones(CLUSTERS, np.int64)
        write_clusters(Path(cell["scores"], "cluster_sums.parquet"), names, ones, sums)
    rebuilt(store)
    return folder


def test_differences_are_those_of_the_same_clips(results: Path) -> None:
    (pair,) = compare(results, "persistence", "convlstm")
    difference = SCORES["convlstm"] - SCORES["persistence"]
    test = stats.ttest_1samp(difference, 0)
    assert (pair.tested, pair.column, pair.clusters) == ("moving_mnist", "SSIM", CLUSTERS)
    assert [pair.ci95_low, pair.ci95_high] == pytest.approx(list(test.confidence_interval()))
    assert pair.p == pytest.approx(test.pvalue) and pair.better == "convlstm"
    # Seen apart, both vary with the clips far more than they differ.
    assert pair.detectable is not None
    assert pair.detectable < 0.2 * SCORES["convlstm"].std() / CLUSTERS**0.5 * 3.9


def test_the_order_of_the_two_does_not_matter(results: Path) -> None:
    (one,) = compare(results, "persistence", "convlstm")
    (other,) = compare(results, "convlstm", "persistence")
    assert (one.p, one.better) == (other.p, other.better)
    assert one.ci95_low is not None and other.ci95_high == pytest.approx(-one.ci95_low)
    assert other.detectable == pytest.approx(one.detectable)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("convlstm", "persistense"), "persistence"),
        (("convlstm", "convlstm"), "convlstm"),
        (("convlstm", "persistence", "--cell", "moving_mnits"), "moving_mnist"),
        (("convlstm", "persistence", "--metric", "SIM"), "SSIM"),
    ],
)
def test_mistakes_are_answered(results: Path, arguments: tuple[str, ...], name: str) -> None:
    done = CliRunner().invoke(app, ["compare", *arguments, "--results", str(results)])
    assert isinstance(done.exception, StpError) and name in str(done.exception)


def test_an_unknown_model_is_named_with_the_results_that_were_read(results: Path) -> None:
    with pytest.raises(StpError, match=str(results)):
        compare(results, "persistence", "mcvd")


def test_columns_say_whose_share_and_which_difference(results: Path) -> None:
    pairs = compare(results, "persistence", "convlstm")
    (section,) = grid(pairs, "persistence", "convlstm").sections
    (line,) = section.rows
    item_of = dict(zip(section.columns, line, strict=True))
    assert str(item_of["convlstm - persistence"]).startswith("+0.0")
    # ConvLSTM is better on nearly every clip.
    assert int(str(item_of["won by convlstm"]).rstrip(" %*")) > 90
    assert float(str(item_of["p (sign test)"])) < 0.05


def test_the_number_of_seeds_is_stated(results: Path) -> None:
    (pair,) = compare(results, "persistence", "convlstm")
    assert pair.seeds == (0, 1)
    remedy = "`seeds: [0, 1, 2]`"
    intro = " ".join(grid([pair], "persistence", "convlstm").intro)
    assert "none (persistence), 1 (convlstm)" in intro and remedy in intro
    intro = " ".join(grid([replace(pair, seeds=(2, 3))], "persistence", "convlstm").intro)
    assert "2 (persistence), 3 (convlstm)" in intro and remedy not in intro


def test_the_tests_are_those_of_the_store(results: Path) -> None:
    """Corrected for all three pairs of the models that are ranked together."""
    (pair,) = compare(results, "simvpv2", "convlstm")
    (stored,) = ask(
        results / "results.duckdb",
        "SELECT -difference, -ci95_high, -ci95_low, p, p_corrected, detectable "
        "FROM comparisons WHERE model = 'convlstm' AND other = 'simvpv2' AND p IS NOT NULL",
    )
    found = (
        pair.b - pair.a,
        pair.ci95_low,
        pair.ci95_high,
        pair.p,
        pair.p_corrected,
        pair.detectable,
    )
    assert found == pytest.approx(stored)
    assert pair.p_corrected is not None and pair.p is not None and pair.p_corrected > pair.p


def test_without_sums_there_is_a_reason_and_no_p(results: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(results, copy)
    manifest = copy / "collected" / "short_term.json"
    manifest.write_text(manifest.read_text().replace(str(results), str(copy)))
    for path in (copy / "results.duckdb", *copy.rglob("cluster_sums.parquet")):
        path.unlink()
    (pair,) = compare(copy, "persistence", "convlstm")
    assert pair.p is None and "no sums over clusters" in pair.reason
    assert pair.reason in grid([pair], "persistence", "convlstm").intro[0]


def test_the_best_of_many_forecasts_is_not_compared_with_one(tmp_path: Path) -> None:
    store = SmallStore(tmp_path)
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.7}})
    store.add("mcvd", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0, best_of=10)
    collect_dimension(store.write(), tmp_path / "collected" / "short_term.parquet")
    with pytest.raises(StpError, match="persistence and mcvd"):
        compare(tmp_path, "persistence", "mcvd")


def test_models_of_several_forecasts_are_compared_in_columns_of_their_own(tmp_path: Path) -> None:
    """Also where the first model of the case has one forecast, and so none of these columns."""
    store = SmallStore(tmp_path)
    store.manifest["tables"]["short_term"]["sampled"] = {
        "moving_mnist": [table_column("SSIM-{members}", "ssim.range2")]
    }
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.7}})
    for model, value in (("mcvd", 0.9), ("svg", 0.8)):
        scored = {"ssim.range2": {"mean": value}}
        cell = store.add(model, "moving_mnist", scored, seed=0, best_of=10)
        cell |= {"samples": 10, "statistic": "best_of_members"}
    collect_dimension(store.write(), tmp_path / "collected" / "short_term.parquet")
    (pair,) = compare(tmp_path, "mcvd", "svg")
    assert (pair.column, pair.a, pair.b) == ("SSIM-best-of-10", 0.9, 0.8)
    assert pair.direction.higher


def test_a_printed_number_leads_to_its_artefacts(results: Path) -> None:
    printed = f"{SCORES['convlstm'].mean():.4f}"
    asked = ["trace", printed, "--database", str(results / "results.duckdb")]
    shown = CliRunner().invoke(app, [*asked, "--cell", "convlstm"]).output
    assert "1 × value, 1 × lead." in shown and "ssim.range2" in shown
    for stage in ("prepare", "model", "predictions", "score"):
        assert f"\n{stage} " in shown
    assert "node1" in shown
    for cell, code in (("convlstm/moving_mnist", 0), ("seed-0/ssim", 3), ("persistence", 3)):
        done = CliRunner().invoke(app, [*asked, "--cell", cell])
        assert (done.exception is None) == (code == 0), cell


def test_numbers_that_nobody_computed_are_said_to_be_so(results: Path) -> None:
    database = results / "results.duckdb"
    with pytest.raises(StpError, match=r"123\.4"):
        trace.matches(database, "123.4")
