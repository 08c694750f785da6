"""The reliability study: the paper's numbers again, known values, gaps, marks."""

import itertools
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from asking import csv_rows
from scipy import stats
from small_store import PUBLISHED, SmallStore, results, table_column

from stp.collect.published import PublishedValue, read_published
from stp.core.errors import ConfigurationError, StpError
from stp.render.tables.reliability import PublishedRuns, read_column, render_reliability
from stp.render.tables.run_statistics import (
    describe_runs,
    detectable_difference,
    explain_statistic,
    student,
)


def printed_columns() -> dict[tuple[str, str], PublishedRuns]:
    """Tables 17 and 18 of PredBench: (table, metric) -> column."""
    columns: dict[tuple[str, str], dict[str, PublishedValue]] = {}
    for value in read_published(PUBLISHED):
        if value.dimension == "reliability":
            columns.setdefault((value.table[:3], value.metric), {})[value.run] = value
    return {key: read_column(rows) for key, rows in columns.items()}


PAPER = printed_columns()


def last_place(printed: str) -> float:
    """The unit of the last printed digit; 1.0 stands for 1.0000, beside four digits elsewhere."""
    return 1e-4 if printed == "1.0" else float(10 ** Decimal(Decimal(printed).as_tuple().exponent))


def values(column: PublishedRuns) -> list[float]:
    return [float(run) for run in column.runs]


# What the paper computed


def test_the_paper_prints_eleven_columns_of_ten_runs() -> None:
    assert [metric for table, metric in PAPER if table == "T17"] == [
        "MAE", "RMSE", "WMAPE", "SSIM", "PSNR",
    ]  # fmt: skip
    assert [metric for table, metric in PAPER if table == "T18"] == [
        "MAE", "MSE", "SSIM", "PSNR", "LPIPS", "FVD",
    ]  # fmt: skip
    assert all(len(column.runs) == 10 for column in PAPER.values())


@pytest.mark.parametrize("key", PAPER, ids="-".join)
def test_the_printed_std_has_divisor_n(key: tuple[str, str]) -> None:
    column = PAPER[key]
    # 0.10597 is printed as 0.1059: cut, not rounded. All others are rounded.
    allowed = 1.0 if key == ("T17", "RMSE") else 0.5
    std = column.statistics["std.population"]
    assert std is not None
    assert abs(std - float(column.std)) <= allowed * last_place(column.std) + 1e-12
    # Divisor n - 1 fits only where there is one significant digit.
    other = column.statistics["std.sample"]
    assert other is not None
    fits = abs(other - float(column.std)) <= 0.5 * last_place(column.std)
    assert fits == (key[1] == "SSIM")


@pytest.mark.parametrize("key", PAPER, ids="-".join)
def test_the_printed_p_value_is_the_larger_of_two_splits(key: tuple[str, str]) -> None:
    column = PAPER[key]
    p = column.statistics["p.larger"]
    assert p is not None
    assert abs(p - float(column.pvalue)) <= 0.5 * last_place(column.pvalue) + 1e-9


def fitting_splits(column: PublishedRuns, *, equal_var: bool) -> set[tuple[int, ...]]:
    """All splits into two groups of five whose p-value is the printed one."""
    runs = np.array(values(column))
    splits = [(0, *rest) for rest in itertools.combinations(range(1, 10), 4)]
    first = runs[np.array(splits)]
    second = np.array([np.delete(runs, split) for split in splits])
    p = stats.ttest_ind(first, second, axis=1, equal_var=equal_var).pvalue
    fits = abs(p - float(column.pvalue)) <= 0.5 * last_place(column.pvalue) + 1e-9
    return {split for split, fit in zip(splits, fits, strict=True) if fit}


@pytest.mark.filterwarnings("ignore:Precision loss")
def test_no_single_split_and_no_unequal_variances_explain_the_p_values() -> None:
    halves, alternating = (0, 1, 2, 3, 4), (0, 2, 4, 6, 8)
    fitting = {key: fitting_splits(column, equal_var=True) for key, column in PAPER.items()}
    assert not set.intersection(*fitting.values())
    for table in ("T17", "T18"):
        assert not set.intersection(*(fit for key, fit in fitting.items() if key[0] == table))
    by_halves = {key for key, fit in fitting.items() if halves in fit}
    by_alternating = {key for key, fit in fitting.items() if alternating in fit}
    assert len(by_halves) == 7 and len(by_alternating) == 5
    assert by_halves | by_alternating == set(PAPER)
    assert by_halves & by_alternating == {("T18", "PSNR")}  # there both splits give one p-value
    # Welch's test, with unequal variances, cannot give seven of them, however the runs are split.
    impossible = [key for key, c in PAPER.items() if not fitting_splits(c, equal_var=False)]
    assert len(impossible) == 7


def test_a_p_value_of_one_means_equal_means_of_rounded_runs() -> None:
    ones = [key for key, column in PAPER.items() if column.pvalue == "1.0"]
    assert ones == [("T17", "SSIM"), ("T17", "PSNR"), ("T18", "SSIM")]
    assert len(set(PAPER["T18", "SSIM"].runs)) == 2  # 0.950 and 0.951, nothing else
    assert len(set(PAPER["T17", "SSIM"].runs)) == 3


# The statistics


def test_statistics_of_a_few_runs_by_hand() -> None:
    statistic_of = describe_runs([1.0, 2.0, 3.0, 6.0])
    # mean 3, squares 4 + 1 + 0 + 9 = 14
    assert statistic_of["mean"] == 3.0
    assert statistic_of["std.population"] == pytest.approx((14 / 4) ** 0.5)
    assert statistic_of["std.sample"] == pytest.approx((14 / 3) ** 0.5)
    assert (statistic_of["min"], statistic_of["max"], statistic_of["range"]) == (1.0, 6.0, 5.0)
    assert statistic_of["cv"] == pytest.approx((14 / 3) ** 0.5 / 3)
    # Student's t for 3 degrees of freedom: 3.182446
    assert statistic_of["ci95_high"] == pytest.approx(3 + 3.182446 * (14 / 3) ** 0.5 / 2, rel=1e-6)
    assert statistic_of["ci95_low"] == pytest.approx(3 - 3.182446 * (14 / 3) ** 0.5 / 2, rel=1e-6)
    assert statistic_of["p.larger"] == max(statistic_of["p.halves"], statistic_of["p.alternating"])
    assert all(explain_statistic(name) for name in statistic_of)


@pytest.mark.parametrize(("seeds", "cohens_d"), [(3, 3.071), (10, 1.325), (26, 0.792), (64, 0.499)])
def test_detectable_difference_is_that_of_power_tables(seeds: int, cohens_d: float) -> None:
    assert detectable_difference(1.0, seeds) == pytest.approx(cohens_d, abs=5e-4)
    assert detectable_difference(0.25, seeds) == pytest.approx(cohens_d / 4, abs=2e-4)


def test_runs_without_spread_have_no_test() -> None:
    statistic_of = describe_runs([0.1] * 6)
    assert (
        statistic_of["std.population"] == statistic_of["std.sample"] == statistic_of["mdd.3"] == 0.0
    )
    assert (
        statistic_of["p.halves"]
        is statistic_of["p.alternating"]
        is statistic_of["p.larger"]
        is None
    )
    assert student([1.0, 1.0], [2.0, 2.0]) is None
    assert describe_runs([-1.0, 1.0, -1.0, 1.0])["cv"] is None


# The files


@pytest.fixture
def store(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path, PUBLISHED)


def add_runs(store: SmallStore, runs: Sequence[float | None], **more: object) -> None:
    for seed, value in enumerate(runs):
        ssim = {"mean": value, "n": 40, "reason": None if value is not None else "clip too short"}
        store.add("convlstm", "moving_mnist", {"ssim.range2": ssim}, seed=seed, **more)


def render(store: SmallStore) -> Path:
    """Collect and render; return the path of the CSV."""
    out = store.folder / "tables" / "reliability.csv"
    render_reliability(results(store), out)
    return out


def statistics(path: Path, column: str = "SSIM") -> dict[str, dict[str, str]]:
    return {row["statistic"]: row for row in csv_rows(path) if row["column"] == column}


def test_four_runs_word_by_word(store: SmallStore) -> None:
    """A deterministic model is left out."""
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})
    add_runs(store, [0.5, 0.75, 0.5, 0.25])
    out = render(store)
    lines = out.read_text().splitlines()
    assert lines[0] == (
        "source,scale,protocol,comparable,dataset,model,column,convention,statistic,seed,value,"
        "published,from published runs,difference,notes"
    )
    start = "synthetic,demo,demo,NO,Moving-MNIST,ConvLSTM,SSIM,ssim.range2,"
    end = ',,,,"NOT COMPARABLE: synthetic data, demo protocol; LPIPS: metric not available yet"'
    # mean 0.5, squares 2 x 0.0625: divisor 4 gives 0.1767767, divisor 3 gives 0.2041241. Halves:
    # means 0.625 and 0.375, each with variance 0.03125: t = 0.25 / 0.1767767 = sqrt(2), and with
    # two degrees of freedom p = 1 - t / sqrt(2 + t^2) = 1 - sqrt(1 / 2). Odd and even: equal means.
    expected = {
        "run 1,0": "0.5", "run 2,1": "0.75", "run 3,2": "0.5", "run 4,3": "0.25",
        "std.population,": "0.1767766953", "p.larger,": "1", "p.halves,": "0.2928932188",
        "p.alternating,": "1", "mean,": "0.5",
    }  # fmt: skip
    for line, (name, value) in zip(lines[1:], expected.items(), strict=False):
        assert line == f"{start}{name},{value}{end}"
    assert {row["model"] for row in csv_rows(out)} == {"ConvLSTM"}
    statistic_of = statistics(out)
    assert statistic_of["std.sample"]["value"] == "0.2041241452"
    assert list(statistic_of)[-4:] == ["mdd.3", "mdd.4", "mdd.5", "mdd.10"]
    assert sorted(path.name for path in out.parent.iterdir()) == [
        "reliability.csv", "reliability.html", "reliability.md", "reliability.png",
        "reliability.svg", "reliability.tex",
    ]  # fmt: skip


def paper_study(store: SmallStore, *, official: bool) -> Path:
    """The paper's own runs of Moving-MNIST as if they were ours."""
    names, columns = store.manifest["names"], [table_column("SSIM", "ssim.range2")]
    names["models"]["predrnnpp"] = "PredRNN++"
    store.manifest["published_names"]["models"]["predrnnpp"] = "PredRNN++"
    store.manifest["tables"]["short_term"]["columns"]["moving_mnist"] = columns
    for seed in range(10):
        scores = {
            convention: {"mean": values(PAPER["T18", metric])[seed]}
            for metric, convention in [("SSIM", "ssim.range2"), ("MSE", "mse.pixel_sum")]
        }
        store.add("predrnnpp", "moving_mnist", scores, seed=seed, official=official)
    return render(store)


def test_published_values_stand_beside_ours(store: SmallStore) -> None:
    out = paper_study(store, official=True)
    # The order of Table 18, with a column that the short-term table does not have.
    assert list(dict.fromkeys(row["column"] for row in csv_rows(out))) == ["MSE", "SSIM"]
    statistic_of = statistics(out, "MSE")
    assert statistic_of["run 1"]["value"] == statistic_of["run 1"]["published"] == "22.21"
    assert statistic_of["run 10"]["published"] == "22.28"
    assert statistic_of["std.population"]["published"] == "0.0435"
    assert statistic_of["p.larger"]["published"] == "0.8007"
    assert statistic_of["mean"]["published"] == ""  # the paper prints none
    for name, row in statistic_of.items():
        if not name.startswith("run"):
            assert row["value"] == row["from published runs"], name
    assert statistic_of["mean"]["difference"] == "0"
    assert {row["difference"] for name, row in statistic_of.items() if name != "mean"} == {""}
    text = out.with_suffix(".md").read_text()
    assert (
        "| MSE | ours | 22.210 | 22.200 | 22.160 | 22.110 | 22.180 | 22.220 | 22.200 | 22.150 "
        "| 22.170 | 22.280 | 0.0435 | 0.8007 |"
    ) in text
    assert (
        "|  | paper | 22.21 | 22.2 | 22.16 | 22.11 | 22.18 | 22.22 | 22.2 | 22.15 | 22.17 | 22.28 "
        "| 0.0435 | 0.8007 |"
    ) in text
    assert "WARNING" not in text


def test_synthetic_runs_are_marked_and_have_no_difference(store: SmallStore) -> None:
    out = paper_study(store, official=False)
    assert {row["comparable"] for row in csv_rows(out)} == {"NO"}
    assert {row["source"] for row in csv_rows(out)} == {"synthetic"}
    assert {row["difference"] for row in csv_rows(out)} == {""}
    assert statistics(out)["std.population"]["published"] == "0.0005"
    assert "NOT COMPARABLE" in out.with_suffix(".md").read_text()


def test_runs_are_in_the_order_of_their_seeds_and_all_of_them_have_values(
    store: SmallStore,
) -> None:
    """A run without a value leaves its column without statistics."""
    for seed, value in [(7, 0.7), (1, 0.1), (10, 1.0), (3, 0.3)]:
        store.add("convlstm", "enso", {"rmse.per_frame": {"mean": value}}, seed=seed)
    add_runs(store, [0.5, None, 0.5, 0.25])
    out = render(store)
    statistic_of = statistics(out, "RMSE")
    runs = [statistic_of[f"run {number}"] for number in (1, 2, 3, 4)]
    assert [(row["seed"], row["value"]) for row in runs] == [
        ("1", "0.1"), ("3", "0.3"), ("7", "0.7"), ("10", "1"),
    ]  # fmt: skip
    statistic_of = statistics(out)
    assert list(statistic_of) == ["run 1", "run 2", "run 3", "run 4"]
    assert statistic_of["run 2"]["value"] == "" and statistic_of["run 3"]["value"] == "0.5"
    assert "clip too short" in statistic_of["run 1"]["notes"]


@pytest.mark.parametrize("runs", [[], [0.5], [0.5, 0.6, 0.7]])
def test_too_few_seeds_are_refused(store: SmallStore, runs: list[float]) -> None:
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})
    add_runs(store, runs)
    with pytest.raises(ConfigurationError) as caught:
        render(store)
    if runs:
        assert f"convlstm on moving_mnist: {len(runs)}" in caught.value.what
    assert not (store.folder / "tables").exists()


def test_a_missing_run_is_named(store: SmallStore) -> None:
    add_runs(store, [0.5, 0.75, 0.5, 0.25])
    manifest = results(store)
    add_runs(store, [0.1, 0.2, 0.3, 0.4], variant="released")
    store.write().rename(manifest)
    with pytest.raises(StpError, match=r"variant released.*seed 3"):
        render_reliability(manifest, store.folder / "tables" / "reliability.csv")
    assert not (store.folder / "tables").exists()
