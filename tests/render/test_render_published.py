"""Published values stand beside the columns that they are about, in every dimension."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import csv_rows

from stp.collect.published import PublishedValue, read_published
from stp.inspect.facts import table as facts
from stp.plan.cells import Plan
from stp.plan.data_origin import cells_with_evidence
from stp.plan.manifests import manifest
from stp.render.tables.rows import Row, make_rows

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan.load(ROOT / "config" / "paper.yaml")


@pytest.fixture(scope="module")
def chaosbench() -> Plan:
    return Plan.load(ROOT / "config" / "chaosbench.yaml")


def published(plan: Plan, dimension: str) -> list[PublishedValue]:
    every = read_published(plan.config.suite.published_file)
    return [value for value in every if value.dimension == dimension]


def rows(plan: Plan, dimension: str) -> list[Row]:
    """The rows of the paper's table before anything was computed."""
    described = manifest(plan, dimension)
    described = replace(described, cells=cells_with_evidence(described))
    absent = {cell.key: "not computed" for cell in described.cells}
    return make_rows(described, dimension, {}, published(plan, dimension), absent)


DIMENSIONS = "short_term", "generalization", "robustness"


@pytest.fixture(scope="module")
def tables(plan) -> dict[str, list[Row]]:
    return {dimension: rows(plan, dimension) for dimension in DIMENSIONS}


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_every_published_value_is_found_once(plan, tables, dimension):
    found = [
        entry.published.raw
        for row in tables[dimension]
        for entry in row.entries.values()
        if entry.published
    ]
    assert sorted(found) == sorted(value.raw for value in published(plan, dimension))


def test_every_value_of_chaosbench_is_found_once(chaosbench):
    """Tables 2 and S7, both tasks; twice where a variant is made as released, beside ours."""
    every = published(chaosbench, "s2s_control")
    printed = [value for value in every if value.table in ("2", "S7")]
    assert len(printed) == 33 + 14 * 9
    as_released = ("FNO", "Climatology", "PanguWeather", "GraphCast", "FourCastNetV2")
    name = manifest(chaosbench, "s2s_control").published_names.of_model
    assert Counter(
        (name(row.key), column, entry.published.raw)
        for row in rows(chaosbench, "s2s_control")
        for column, entry in row.entries.items()
        if entry.published
    ) == {
        (value.model, f"{value.variable} {value.metric}", value.raw): 1
        + (value.model in as_released)
        for value in printed
    }


def test_every_hyperparameter_of_chaosbench_is_found_once(chaosbench):
    """Tables S3 to S6, each beside what ours is."""
    printed = Counter(
        tuple(row.values())
        for row in csv_rows(ROOT / "config" / "suites" / "chaosbench" / "networks.csv")
    )
    keys = ("table", "model", "hyperparameter", "published")
    compared = facts.make(chaosbench, "s2s_networks").rows
    found = Counter(tuple(row.values[key] for key in keys) for row in compared)
    assert printed.total() == 37 and not printed - found


def test_each_interval_and_subset_has_its_own(plan, tables):
    def printed(dimension: str, dataset: str, model: str, column: str) -> float | None:
        (row,) = (row for row in tables[dimension] if (row.dataset, row.model) == (dataset, model))
        value = row.entries[column].published
        return value and value.value

    def said(dimension: str, **wanted: Any) -> float:
        (found,) = (
            value
            for value in published(plan, dimension)
            if all(getattr(value, key) == wanted[key] for key in wanted)
        )
        return found.value

    for interval in (2, 3):
        assert printed(
            "robustness", f"BridgeData, interval {interval}", "ConvLSTM", "SSIM"
        ) == said(
            dimension="robustness",
            model="ConvLSTM",
            trained_on="BridgeData",
            setting={"interval": interval},
            metric="SSIM",
        )
    assert printed("robustness", "BridgeData, interval 1", "ConvLSTM", "SSIM") is None
    assert printed("generalization", "Traffic4Cast2021, moscow", "TAU", "RMSE") == said(
        dimension="generalization", model="TAU", subset="moscow", metric="RMSE"
    )
