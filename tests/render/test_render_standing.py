"""How values of a table stand among their rivals: ranks, marks and tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from scored_rivals import cell_of, forecasts, scored, value_of
from small_store import bare_manifest, convention_facts
from toy_scored import Scored

from stp.collect.pairwise_tests import OTHER_CLUSTERS, Pair
from stp.plan.column import Part
from stp.plan.manifest_types import Cell, Manifest
from stp.render.tables.best_rows import Standing, _with_test, standings
from stp.render.tables.rows import Entry, Row


@pytest.fixture(scope="module")
def rivals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Scored]:
    return forecasts(tmp_path_factory)


CONVENTIONS = {
    "mse.pixel_mean": convention_facts(False),
    "frequency_bias.mean": convention_facts(best_at=1.0),
    "fvd.predicted_only": convention_facts(False, compares_sets=True),
}
MANIFEST = TypeAdapter(Manifest).validate_python(bare_manifest(Path(), [], conventions=CONVENTIONS))


def entry(convention: str, value: float | None, n: int = 10) -> Entry:
    return Entry(convention, Part(), n, value, None, None, None, None, None, None, "")


def row(model: str, entries: dict[str, Entry], *cells: Cell, **changes: Any) -> Row:
    key = cell_of().key
    made = Row(
        "official", "paper", "paper", True, False, "Toy", model, None, 10, entries, [], cells, key
    )
    return replace(made, **changes)


def test_rivals_are_compared_with_the_best_of_them(rivals: dict[str, Scored]) -> None:
    rows = []
    for name in ("noisy", "good", "far", "elsewhere"):
        cell = scored(rivals[name], "mse.pixel_mean")
        value = value_of(cell, "mse.pixel_mean")
        rows.append(row(name, {"MSE": entry("mse.pixel_mean", value)}, cell))
    noisy, good, far, elsewhere = (by["MSE"] for by in standings(MANIFEST, rows))
    assert [one.rank for one in (good, noisy, elsewhere, far)] == [1, 2, 3, 4]
    assert [one.place for one in (good, noisy, elsewhere, far)] == [1, 2, 0, 0]
    assert {one.best for one in (noisy, good, far, elsewhere)} == {"good"}
    assert good.p is None and good.reason == ""
    assert far.p is not None and far.p < 1e-4 and far.is_worse
    # Three pairs are tested, that of the two others with them.
    assert far.corrected is not None and 2 * far.p <= far.corrected <= 3 * far.p
    assert noisy.p == noisy.corrected and noisy.is_worse == (noisy.p < 0.05)
    assert elsewhere.p is None and elsewhere.reason == OTHER_CLUSTERS


def test_a_ratio_is_best_at_one() -> None:
    """Twice as many events as there were are worse than a tenth too few."""
    bias = {"a": 2.0, "b": 0.9, "c": 1.2}
    rows = [row(m, {"bias": entry("frequency_bias.mean", v)}) for m, v in bias.items()]
    standing_of = [by["bias"].rank for by in standings(MANIFEST, rows, tested=False)]
    assert standing_of == [3, 1, 2]


@pytest.mark.parametrize(
    ("values", "places"),
    [
        ([0.50001, 0.50002, 0.6, 0.7], [1, 1, 2, 0]),  # the first two print the same
        ([0.5, 0.6], [1, 0]),  # the worse of two is not distinguished
        ([0.0, 0.0, 0.0], [0, 0, 0]),
    ],
)
def test_what_is_printed_alike_is_equally_good(values: list[float], places: list[int]) -> None:
    rows = [row(str(n), {"MSE": entry("mse.pixel_mean", v)}) for n, v in enumerate(values)]
    standing_of = [by["MSE"] for by in standings(MANIFEST, rows, tested=False)]
    assert [one.place for one in standing_of] == places
    if len(set(values)) == len(values):
        assert [one.rank for one in standing_of] == list(range(1, len(values) + 1))


def test_a_value_that_is_significantly_worse_is_never_marked_as_the_best() -> None:
    """It may still print the same as the best."""
    worse = Pair(0, 1, difference=1e-6, p=0.001, corrected=0.003, better=0)
    assert _with_test(Standing(3, 2, place=1), worse, best=0).place == 0
    assert _with_test(Standing(3, 2, place=2), worse, best=0).place == 2
    assert _with_test(Standing(3, 2, place=1), worse._replace(better=None), best=0).place == 1


def test_distortions_are_no_rivals() -> None:
    rows = [row(m, {"MSE": entry("mse.pixel_mean", v)}) for m, v in {"a": 0.5, "b": 0.6}.items()]
    assert standings(replace(MANIFEST, are_rivals=False), rows, tested=False) == [{}, {}]


def test_only_what_may_be_compared_is_ranked_together() -> None:
    """A distance of fewer clips is larger by itself; the best of many samples is better."""
    many = {"samples": 10, "statistic": "best_of_members", "best_of": 10}
    mean = {"samples": 10, "statistic": "mean_of_members"}
    both = {"FVD": entry("fvd.predicted_only", 5.0), "MSE": entry("mse.pixel_mean", 0.5)}
    fewer = {**both, "FVD": entry("fvd.predicted_only", 7.0, n=9)}
    rows = [
        row("a", both, cell_of()),
        row("b", both, cell_of(**mean)),
        row("fewer clips", fewer, cell_of()),
        row("best of 10", both, cell_of(**many)),
        row("other bytes", both, cell_of(), comparable=False, source="synthetic"),
    ]
    standing_of = standings(MANIFEST, rows, tested=False)
    assert [by.get("FVD") is not None for by in standing_of] == [True, True, False, False, False]
    assert [by.get("MSE") is not None for by in standing_of] == [True, True, True, False, False]
