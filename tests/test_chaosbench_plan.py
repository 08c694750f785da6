"""The plan of the scale files of ChaosBench: what is read, what is scored, and what it costs."""

from pathlib import Path

import pytest
import yaml

from stp.core.errors import StpError
from stp.core.options import build
from stp.plan import config
from stp.plan.cells import Plan, Raw
from stp.prepare.chaosbench import SEASONS, ChaosbenchOptions
from stp.run.costs.estimate import Costs

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def paper() -> Plan:
    return Plan.load(ROOT / "config" / "chaosbench.yaml")


def test_no_forecast_of_the_paper_scale_is_stored_before_it_is_scored(paper: Plan) -> None:
    # 6 single and 5 ensemble forecasts, on 2022 and on 2022-2023
    assert len(paper.cells) == 22
    assert all(made.predictions is None for made in paper.cells)
    # One start of single forecasts is kept for pictures; of 50 members it would be 15 GB.
    assert {(made.cell.dimension, made.keep) for made in paper.cells} == {
        ("s2s_control", 1),
        ("s2s_ensemble", 0),
    }


def test_an_archive_is_read_by_all_cells_of_its_model_and_locked_once(paper: Plan) -> None:
    locks: dict[str, set[str]] = {}
    for made in paper.cells:
        archive = made.scores.inputs.get("archive")
        if archive is not None:
            assert isinstance(archive, Raw) and archive.release == "official"
            assert paper.raw_of(archive.lock) is archive
            locks.setdefault(made.cell.model, set()).add(archive.lock)
    assert len(locks) == 8 and all(len(lock) == 1 for lock in locks.values())
    assert locks["ecmwf"] == {"raw/ecmwf-chaosbench/official.lock.json"}


def test_members_are_those_of_the_archives(paper: Plan) -> None:
    members = {made.cell.model: paper.members(made.cell) for made in paper.cells}
    assert {model: number for model, (number, _) in members.items() if number > 1} == {
        **{"probabilistic_climatology": 37, "ukmo_ensemble": 3, "ncep_ensemble": 15},
        **{"cma_ensemble": 3, "ecmwf_ensemble": 50},
    }
    assert members["ecmwf_ensemble"][1] == "ensemble_mean" and members["ecmwf"][1] is None


def test_reading_an_archive_takes_time(paper: Plan) -> None:
    """Of one control forecast reading is all: 434 GB, twice, at 500 MB/s, is half an hour."""
    made = next(made for made in paper.cells if made.cell.model == "ncep")
    work = Costs(paper).workload.of(made.scores)
    assert work.reading_mb == pytest.approx(2 * 434_000)


def test_a_correction_and_seasons_and_centres_together_as_the_page_says() -> None:
    page = (ROOT / "docs" / "chaosbench.md").read_text(encoding="utf-8")
    block = page.split("## Centres together")[1].split("```yaml\n")[1].split("```")[0]
    scale = yaml.safe_load((ROOT / "config" / "chaosbench.yaml").read_text())
    control = yaml.safe_load(block)["dimensions"]["s2s_control"]
    control["cells"].append({"trained_on": "chaosbench", "subset": ["djf", "mam", "jja", "son"]})
    scale["dimensions"]["s2s_control"] = control
    scale["dimensions"]["s2s_ensemble"]["models"].append("multi_model_ensemble")
    plan = Plan.load(scale)
    made = {
        (one.cell.model, one.cell.variant): one for one in plan.cells if one.cell.subset == "test"
    }
    assert plan.members(made["multi_model_ensemble", "default"].cell)[0] == 71
    work = Costs(plan).workload
    plain, corrected = (
        work.of(made["ncep", variant].scores) for variant in ("default", "corrected")
    )
    assert corrected.reading_mb == 2 * plain.reading_mb
    assert {one.cell.subset for one in plan.cells} == {"test", "two_years", *SEASONS}


def test_generated_archives_are_of_the_world_of_the_generated_days() -> None:
    """Forecasts of another world would be no forecasts; nothing but this test compares them."""
    loaded = config.load(ROOT / "config" / "chaosbench-demo.yaml")
    days = loaded.datasets["chaosbench"].releases["synthetic"].options
    shared = ("degrees", "levels", "variables", "first_year")
    found = 0
    for model in loaded.models.values():
        for release in model.archives.get("chaosbench", {}).values():
            if release.generator:
                assert [release.options[key] for key in shared] == [days[key] for key in shared]
                found += 1
    assert found == 10


def test_an_archive_of_another_release_cannot_be_taken() -> None:
    scale = yaml.safe_load((ROOT / "config" / "chaosbench-demo.yaml").read_text())
    scale["datasets"]["chaosbench"] |= {
        "release": "other",
        "releases": {"other": {"source": "own", "files": [{"path": "x.tar.gz.aa"}]}},
    }
    with pytest.raises(StpError, match="unknown release 'other'"):
        Plan.load(scale)


def test_a_source_belongs_to_models_whose_forecasts_are_read() -> None:
    path = ROOT / "config" / "models" / "ecmwf.yaml"
    for change in ({"fit": "none"}, {"source": None}):
        with pytest.raises(StpError, match="source"):
            config.check(config.Model, {**yaml.safe_load(path.read_text()), **change}, str(path))


def test_land_and_ocean_as_the_page_says() -> None:
    page = (ROOT / "docs" / "chaosbench.md").read_text(encoding="utf-8")
    block = page.split("## Land and ocean")[1].split("```yaml\n")[1].split("```")[0]
    scale = yaml.safe_load((ROOT / "config" / "chaosbench.yaml").read_text())
    made = config.load({**scale, **yaml.safe_load(block)}).datasets["chaosbench"]
    release = made.releases["official"]
    assert [file.path.split("/")[1] for file in release.files] == ["era5", "lra5", "oras5"]
    options = build(ChaosbenchOptions, release.prepare, "prepare options")
    assert made.shape[0] == len(options.channels) == 64
