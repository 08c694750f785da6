"""Which figures a plan can make, and that the page tells of each."""

from pathlib import Path

import pytest

from stp.plan import config
from stp.plan.cells import Plan
from stp.render.figures.kinds import KINDS
from stp.render.figures.planned import figures

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "figures.md").read_text()


@pytest.fixture(scope="module")
def paper() -> list[str]:
    return figures(Plan(config.load(ROOT / "config" / "paper.yaml")))


@pytest.fixture(scope="module")
def atlas() -> list[str]:
    return figures(Plan(config.load(ROOT / "config" / "atlas-sample.yaml")))


def test_every_case_with_several_lead_times_has_curves(paper: list[str]) -> None:
    short = [path for path in paper if path.startswith("figures/short_term/leads/")]
    assert "figures/short_term/leads/kth.png" in short
    assert "figures/short_term/leads/weatherbench.png" not in short  # one step ahead
    assert "figures/long_term/leads/weatherbench-extrapolation.png" in paper
    assert len(short) == 13


def test_only_what_is_scored_with_spectra_has_some(paper: list[str]) -> None:
    assert "figures/short_term/spectra/kth.png" in paper
    assert "figures/short_term/spectra/enso.png" not in paper


def test_only_robustness_has_slopes(paper: list[str]) -> None:
    assert [p for p in paper if p.endswith("slopes.png")] == ["figures/robustness/slopes.png"]


def test_every_dimension_has_one_of_the_others(paper: list[str]) -> None:
    for kind in ("ranks", "overview", "speed"):
        assert [path for path in paper if Path(path).stem == kind] == [
            f"figures/{dimension}/{kind}.png"
            for dimension in ("short_term", "long_term", "generalization", "robustness")
        ]
    assert len(paper) == len(set(paper))


def test_a_figure_that_could_only_say_why_it_is_empty_is_not_planned(paper: list[str]) -> None:
    """A critical difference needs five datasets of the test."""
    drawn = [path for path in paper if path.endswith("critical_difference.png")]
    assert drawn == ["figures/short_term/critical_difference.png"]
    one = {"models": ["persistence"], "cells": [{"trained_on": "kth"}]}
    content = {"scale": "try", "suite": "predbench", "dimensions": {"short_term": one}}
    kinds = {
        path.split("/")[2].removesuffix(".png") for path in figures(Plan(config.load(content)))
    }
    assert not kinds & {"ranks", "overview", "critical_difference", "speed"}


def test_detail_is_drawn_where_forecasts_are_kept_and_gains_where_there_are_two() -> None:
    scale = config.load(ROOT / "config" / "chaosbench.yaml")
    made = figures(Plan(scale))
    of_control = [path for path in made if path.startswith("figures/s2s_control/detail/")]
    control = ["chaosbench", "chaosbench-two_years", "chaosbench-common_starts"]
    assert [Path(path).stem for path in of_control] == control
    gains = [path for path in made if "/gain/" in path]
    seasons = [f"chaosbench-{name}" for name in ("djf", "mam", "jja", "son")]
    assert [Path(path).stem for path in gains] == ["chaosbench", "chaosbench-two_years", *seasons]
    # Of the ensembles, networks alone keep forecasts.
    of_ensembles = [path for path in made if path.startswith("figures/s2s_ensemble/detail/")]
    assert [Path(path).stem for path in of_ensembles] == control[:2]
    content = {"scale": "try", "suite": "chaosbench", "dimensions": {}}
    cells = {"models": ["ecmwf_ensemble"], "cells": [{"trained_on": "chaosbench"}]}
    alone = figures(Plan(config.load({**content, "dimensions": {"s2s_ensemble": cells}})))
    of_ensemble = ("leads", "lead_means", "rank_histogram", "waves")
    assert alone == [f"figures/s2s_ensemble/{kind}/chaosbench.png" for kind in of_ensemble]


def test_people_have_figures_of_their_own_and_no_others(atlas: list[str]) -> None:
    transfer = [path for path in atlas if path.startswith("figures/atlas_transfer/")]
    of_eth = [f"{kind}/atlas_eth-atlas-paper" for kind in ("horizon", "people", "paths")]
    for name in ("runtime", *of_eth):
        assert f"figures/atlas_transfer/{name}.png" in transfer
    kinds = {path.split("/")[2].removesuffix(".png") for path in atlas}
    assert kinds <= {name for name, kind in KINDS.items() if kind.of_scenarios}
    assert len(atlas) == len(set(atlas))


def test_only_tests_with_a_density_have_a_figure_of_it(atlas: list[str], tmp_path: Path) -> None:
    of_cvae = "figures/atlas_transfer/densities/atlas_zara2-atlas-paper.png"
    assert of_cvae in atlas
    demo = config.load(ROOT / "config" / "atlas-demo.yaml")
    assert not [path for path in figures(Plan(demo)) if "/densities/" in path]
    scale = tmp_path / "scale.yaml"
    scale.write_text(
        "scale: try\nsuite: atlas\ndatasets: {atlas_eth: {release: sample}}\n"
        "models: {constant_velocity: {options: {uncertainty: 0.3}}}\ndimensions:\n"
        "  atlas_transfer:\n    models: [constant_velocity]\n    cells:\n"
        "      - {trained_on: atlas_eth, subset: strict}\n"
    )
    assert "figures/atlas_transfer/densities/atlas_eth-strict.png" in figures(
        Plan(config.load(scale))
    )


def test_a_dimension_that_varies_a_setting_has_the_figure_of_it(tmp_path: Path) -> None:
    scale = tmp_path / "scale.yaml"
    scale.write_text(
        "scale: try\nsuite: atlas\ndatasets: {atlas_eth: {release: sample}}\ndimensions:\n"
        "  atlas_noise:\n    models: [constant_velocity]\n    cells:\n"
        "      - {trained_on: atlas_eth, subset: strict}\n"
        "      - {trained_on: atlas_eth, subset: strict, setting: {noise: 100}}\n"
        "  atlas_horizons:\n    models: [constant_velocity]\n    cells:\n"
        "      - {trained_on: atlas_eth, subset: strict, setting: {horizon: 4}}\n"
        "      - {trained_on: atlas_eth, subset: strict, setting: {horizon: 8}}\n"
    )
    assert figures(Plan(config.load(scale))) == [
        "figures/atlas_noise/accuracy.png",
        "figures/atlas_horizons/accuracy.png",
        "figures/atlas_horizons/horizon/atlas_eth-strict.png",
    ]


def test_the_page_tells_of_every_kind() -> None:
    for name, kind in KINDS.items():
        dimension = "robustness" if name == "slopes" else "<dimension>"
        case = "/<case>" if kind.of_case else ""
        assert f"`results/demo/figures/{dimension}/{name}{case}.png`" in PAGE
