"""Grids of a scale file: what an entry of `cells` stands for."""

import itertools
from collections import Counter
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.plan import config
from stp.plan.cells import Plan
from stp.plan.enumeration import enumerate_cells
from stp.plan.grid import Grid

ROOT = Path(__file__).parent.parent
MODELS = ("persistence", "context_mean")


def cases(**entry):
    return Grid(**entry).cases(MODELS, "cells.0")


def told(found):
    return [
        (c.trained_on, c.tested_on, c.train_subset, c.subset, c.variant, c.setting) for c in found
    ]


def test_an_entry_without_lists_is_one_evaluation():
    (case,) = cases(trained_on="kth", subset="few", setting={"horizon": 30}, keep=4)
    assert told([case]) == [("kth", "kth", "all", "few", "default", {"horizon": 30})]
    assert case.models == MODELS and case.keep == 4


def test_an_entry_with_lists_is_their_product():
    found = cases(
        trained_on=["a", "b"],
        tested_on=["c", "d"],
        train_subset=["all", "half"],
        subset=["test", "strict"],
        variant=["default", "other"],
        setting={"horizon": [4, 8], "interval": [1, 2, 3], "noise": 50},
    )
    product = itertools.product("ab", "cd", ["all", "half"], ["test", "strict"],
                                ["default", "other"], [4, 8], [1, 2, 3])  # fmt: skip
    wanted = [(*names, {"horizon": h, "interval": i, "noise": 50}) for *names, h, i in product]
    assert len(found) == 2**6 * 3
    assert sorted(map(str, told(found))) == sorted(map(str, wanted))


def test_datasets_are_tested_as_they_were_trained_unless_it_says_otherwise():
    assert [(c.trained_on, c.tested_on) for c in cases(trained_on=["a", "b"])] == [
        ("a", "a"),
        ("b", "b"),
    ]


def test_null_is_a_value_of_a_setting_that_is_not_set():
    found = cases(trained_on="a", setting={"noise": [None, 100]})
    assert [case.setting for case in found] == [{}, {"noise": 100}]


def test_combinations_are_left_out_that_match_all_that_is_named():
    grid = {"trained_on": ["a", "b"], "tested_on": ["a", "b"], "setting": {"people": [1, 6, 8]}}
    whole, left = (
        cases(**grid, **more)
        for more in ({}, {"without": [{"trained_on": "b", "setting": {"people": [6, 8]}}]})
    )
    out = {("b", "a", 6), ("b", "a", 8), ("b", "b", 6), ("b", "b", 8)}
    keys = [{(c.trained_on, c.tested_on, c.setting["people"]) for c in of} for of in (whole, left)]
    assert keys[0] - keys[1] == out and keys[1] < keys[0]


def test_a_combination_is_left_out_of_some_models_alone():
    found = cases(
        trained_on="a",
        setting={"horizon": [None, 20]},
        without=[{"setting": {"horizon": 20}, "models": "persistence"}],
    )
    assert [case.models for case in found] == [MODELS, ("context_mean",)]
    (only,) = cases(
        trained_on="a",
        setting={"horizon": [None, 20]},
        without=[{"setting": {"horizon": None}, "models": list(MODELS)}],
    )
    assert only.setting == {"horizon": 20}


@pytest.mark.parametrize(
    ("without", "message"),
    [
        ([{"trained_on": "b"}], r"cells.0.without.0(.|\n)*a -> a, test"),
        ([{"subset": "test"}], "without"),
    ],
)
def test_what_is_left_out_has_to_be_there_and_something_has_to_stay(without, message):
    with pytest.raises(StpError, match=message):
        cases(trained_on="a", without=without)


def scale(*entries, models=MODELS):
    wanted = {"short_term": {"models": list(models), "cells": list(entries)}}
    return {"scale": "grid", "dimensions": wanted}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"trained_on": []}, "cells.0.trained_on"),
        ({"trained_on": ["kth", "knh"]}, "cells.0.trained_on: "),
        ({"trained_on": "kth", "tested_on": ["kht"]}, "cells.0.tested_on: "),
        ({"trained_on": "kth", "setting": {"interval": [1, 0]}}, "interval.1"),
        ({"trained_on": "kth", "setting": {"intervall": [1]}}, "interval"),
        ({"trained_on": "kth", "setting": {"noise": 100}}, "'noise'"),
        ({"trained_on": "kth", "subset": ["test", "strickt"]}, "'strickt'"),
        ({"trained_on": ["kth", "enso"], "tested_on": "kth"}, "enso"),
        ({"trained_on": "kth", "models": ["persistance"]}, "persistence"),
        ({"trained_on": "kth", "without": [{"tested": "kth"}]}, "tested_on"),
        ({"trained_on": "kth", "without": [{"models": ["mcvd"]}]}, "without.0.models"),
        ({"trained_on": ["kth", "kth"]}, "persistence on kth"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_place(entry, message):
    with pytest.raises(StpError) as error:
        Plan(config.load(scale(entry)))
    assert message in str(error.value)


def test_a_grid_of_a_scale_file_is_planned_as_its_lines_would_be():
    grid = {"trained_on": ["kth", "bair"], "setting": {"interval": [None, 2]}}
    lines = [
        {"trained_on": name, **more}
        for name in ("kth", "bair")
        for more in ({}, {"setting": {"interval": 2}})
    ]
    one, many = (list(enumerate_cells(config.load(scale(*given)))) for given in ([grid], lines))
    assert one == many and len(one) == 8


OF_ATLAS = ("transfer", "horizons", "observation", "noise", "people", "synthetic")
OF_PREDBENCH = ("short_term", "long_term", "generalization", "robustness")


@pytest.mark.parametrize(
    ("name", "dimensions", "counts"),
    [
        ("atlas", OF_ATLAS, (125, 54, 60, 72, 30, 25)),
        ("atlas-demo", OF_ATLAS, (21, 15, 12, 12, 6, 15)),
        ("atlas-sample", OF_ATLAS, (73, 51, 48, 24, 24, 15)),
        ("demo", OF_PREDBENCH, (15, 15, 35, 45)),
        ("paper", OF_PREDBENCH, (210, 45, 105, 135)),
        ("wide", OF_PREDBENCH, (238, 10, 10, 30)),
    ],
)
def test_the_grids_of_a_scale_stand_for_so_many_cells(name, dimensions, counts):
    cells = enumerate_cells(config.load(ROOT / "config" / f"{name}.yaml"))
    actual = Counter(cell.dimension.removeprefix("atlas_") for cell, _ in cells)
    assert actual == dict(zip(dimensions, counts, strict=True))


def test_what_learns_by_descent_has_seeds_and_nothing_else():
    given = config.load(ROOT / "config" / "demo.yaml")
    cells = [cell for cell, _ in enumerate_cells(given)]
    assert len({given.models[cell.model].fit for cell in cells}) > 1
    for cell in cells:
        learns = given.models[cell.model].fit == "sgd"
        assert (cell.seed in given.scale.seeds) if learns else (cell.seed is None), cell
