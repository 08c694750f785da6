"""Tables 1 and 2 of PVQA, as a file and by `stp draw clips`, with what the paper prints beside."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking import csv_rows
from fake_store import finish
from latex import complaints, needs_latex
from scipy.stats import ttest_ind

from stp.core.errors import StpError
from stp.inspect.descriptions import Leakage
from stp.inspect.facts import table as fact_table
from stp.inspect.opinions import (
    NO_GROUPS,
    describe_raters,
    lines,
    of_raters,
    pairs_of,
    read_printed_numbers,
    tables,
)
from stp.opinions.prepared import open_database
from stp.page.digits import digits
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER


@pytest.fixture(scope="module")
def rows(data: Path) -> list[dict[str, Any]]:
    return list(open_database(data, 4).table.to_pylist())


@pytest.fixture(scope="module")
def printed() -> dict[tuple[str, str], str]:
    return read_printed_numbers(Plan.load(CONFIG_FOLDER / "pvqa-demo.yaml"), "pvqa")


def test_groups_are_compared_as_in_table_2(rows: list[dict[str, Any]]):
    actual = {pair.first.title: pair for pair in pairs_of(rows)}
    assert set(actual) == {"natural", "blur", "disappearance", "color", "stochastic"}

    def mos(**known: str) -> np.ndarray:
        return np.array(
            [row["mos"] for row in rows if all(row[key] == value for key, value in known.items())]
        )

    natural, blur = actual["natural"], actual["blur"]
    assert natural.first.moments == (mos(tags="natural").mean(), *natural.first.moments[1:])
    assert natural.first.moments.deviation == pytest.approx(mos(tags="natural").std())
    assert natural.first.moments.n + natural.second.moments.n == len(rows)
    assert natural.p < 1e-6  # nothing is done to them
    both = mos(tags="blur"), mos(tags="shape")
    assert blur.p == pytest.approx(ttest_ind(*both, equal_var=False).pvalue)
    assert actual["color"].first.moments.n + actual["color"].second.moments.n == sum(
        row["tags"] != "natural" for row in rows
    )
    families = mos(family="stochastic"), mos(family="deterministic")
    expected = ttest_ind(*families, equal_var=False, alternative="greater").pvalue
    assert actual["stochastic"].p == pytest.approx(expected)


def test_natural_videos_below_the_largest_size_are_enlarged(rows: list[dict[str, Any]]):
    natural = [row | {"tags": "natural"} for row in rows[:8]]
    sized = [row | {"height": 128} if n < 3 else row for n, row in enumerate(natural)]
    (pair,) = (one for one in pairs_of(sized) if one.first.title.startswith("enlarged"))
    assert (pair.first.moments.n, pair.second.moments.n) == (5, 3)
    assert pair.first.published_name == "Upsampled Natural Videos"


def test_printed_values_stand_beside(
    rows: list[dict[str, Any]], printed: dict[tuple[str, str], str]
):
    sources, text = "\n".join(tables(rows, printed, 120)).split("\n\n", 1)
    actual = {words[0]: words[1:] for words in map(str.split, sources.splitlines()[2:])}
    assert len(actual) == 9 and sum(int(ours) for ours, _ in actual.values()) == len(rows)
    assert actual["UCF"][1] == "50" and actual["Caltech"][1] == "14"
    for value in ("76.68 ± 3.79", "46.97 ± 10.88", "197", "6e-09", "greater"):
        assert value in text
    untagged = [row | {"tags": None, "family": None} for row in rows]
    assert list(tables(untagged, printed, 100))[-1] == NO_GROUPS


def test_rejected_raters_and_halves_stand_beside_the_printed_ones(
    printed: dict[tuple[str, str], str],
):
    counted = {"raters": 40, "rejected": ["a", "b"], "split_half": 0.9571}
    assert describe_raters(of_raters(counted, printed)) == (
        "40 raters, of whom 2 are rejected (printed: 7 of 50); the opinions of random halves of "
        "the others correlate with 0.957 (median; printed: 0.94)"
    )
    assert "printed" not in describe_raters(of_raters(counted, {}))
    assert of_raters(counted | {"raters": 0}, printed) == []


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The demo, with a store of its own."""
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    return Plan.load(CONFIG_FOLDER / "pvqa-demo.yaml")


@pytest.fixture
def counted(plan: Plan, data: Path) -> dict[str, Any]:
    """What was counted when the opinions were prepared; they are in the store."""
    actual: dict[str, Any] = json.loads((data / "extras.json").read_text())
    shutil.copytree(data, finish(plan, plan.data("pvqa"), extras=actual), dirs_exist_ok=True)
    return actual


def test_the_table_has_the_numbers_that_stp_show_prints(
    plan: Plan, counted: dict[str, Any], rows: list[dict[str, Any]], tmp_path: Path
):
    out = tmp_path / "pvqa_opinions.csv"
    many = len(fact_table.write(plan, out).rows)
    assert "identical answers" not in out.with_suffix(".md").read_text()
    written = csv_rows(out)
    assert len(written) == many and {row["source"] for row in written} == {"synthetic"}
    actual = {(row["name"], row["quantity"]): (row["value"], row["published"]) for row in written}
    of_kth = sum(row["dataset"] == "KTH" for row in rows)
    assert actual["KTH", "videos"] == (str(of_kth), "33")
    assert actual["raters", "rejected raters"] == (str(len(counted["rejected"])), "7")
    assert actual["raters", "PLCC of halves"] == (f"{counted['split_half']:.10g}", "0.94")
    blur = np.mean([row["mos"] for row in rows if row["tags"] == "blur"])
    assert float(actual["blur", "MOS"][0]) == pytest.approx(blur)
    assert actual["blur", "MOS"][1] == "45.57" and actual["blur", "MOS sd"][1] == "8.52"
    assert actual["stochastic, deterministic", "p, greater"][1] == "6e-09"

    page = out.with_suffix(".md").read_text()
    assert "Made from synthetic data" in page
    shown = "\n".join(lines(plan, "pvqa", Leakage([], [], "overlap"), 200))
    for name in ("natural", "blur", "stochastic"):
        mean, deviation = (float(actual[name, metric][0]) for metric in ("MOS", "MOS sd"))
        assert f"{mean:.2f} ± {deviation:.2f}" in shown
        assert f"| {name} | MOS | {digits(mean)} ({actual[name, 'MOS'][1]}) |" in page
    assert describe_raters(of_raters(counted, read_printed_numbers(plan, "pvqa"))) in shown
    assert "(printed: 7 of 50)" in page


def test_without_prepared_opinions_there_is_no_table(plan: Plan, tmp_path: Path):
    with pytest.raises(StpError, match="pvqa"):
        fact_table.write(plan, tmp_path / "pvqa_opinions.csv")
    with pytest.raises(StpError, match="pvqa_opinions"):
        fact_table.write(Plan.load(CONFIG_FOLDER / "demo.yaml"), tmp_path / "pvqa_opinions.csv")
    assert not list(tmp_path.glob("pvqa_opinions.*"))


@needs_latex
def test_it_compiles(plan: Plan, counted: dict[str, Any], tmp_path: Path):
    fact_table.write(plan, tmp_path / "pvqa_opinions.csv")
    assert complaints(tmp_path / "pvqa_opinions.tex") == []
