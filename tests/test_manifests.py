"""What tables are made from, and which rows may be called the paper's."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from official_store import judged, write_official
from package_copy import copy_package
from parts import long_except

from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.plan import config, data_origin
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.plan.column import by_name
from stp.plan.manifest import load_manifest, manifest_text
from stp.plan.manifest_types import Cell, RawFacts
from stp.plan.manifests import Paper, manifest

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "config" / "demo.yaml"
PAPER = ROOT / "config" / "paper.yaml"
HELD = yaml.safe_load((ROOT / "tests" / "held_plans.yaml").read_text())["manifests"]


@pytest.fixture(scope="module")
def paper() -> Plan:
    return Plan.load(PAPER)


def overridden(**changes) -> Plan:
    """The paper's scale file with overrides, as `snakemake --config` gives."""
    return Plan.load(merge(yaml.safe_load(PAPER.read_text()), changes))


def of_moving_mnist(**changes) -> Plan:
    """The same, of three models on one dataset."""
    models = ["convlstm", "simvpv2", "persistence"]
    scale = yaml.safe_load(PAPER.read_text())
    scale["dimensions"] = {"short_term": {"models": models, "datasets": ["moving_mnist"]}}
    return Plan.load(merge(scale, changes))


def entries(plan: Plan) -> dict[tuple[str, str], Cell]:
    cells = manifest(plan, "short_term").cells
    return {(cell.key.model, cell.key.tested_on): cell for cell in cells}


def test_the_demo_does_not_follow_the_paper_and_the_paper_does(paper):
    demo = Plan.load(DEMO)
    follows = Paper("predbench").is_followed
    assert not any(follows(demo.recipes, made.cell) for made in demo.cells)
    assert all(follows(paper.recipes, made.cell) for made in paper.cells)


def test_an_evaluation_that_the_paper_has_not_is_not_its_protocol():
    """Recipes alone cannot tell: a longer rollout uses the paper's data and trained model."""
    changes = {"short_term": {"models": ["convlstm"], "datasets": [], "cells": []}}
    for setting in ({}, {"horizon": 20}):
        changes["short_term"]["cells"].append({"trained_on": "kth", "setting": setting})
    as_trained, longer = manifest(overridden(dimensions=changes), "short_term").cells
    assert (as_trained.key.setting, as_trained.protocol) == ("horizon-10", "paper")
    assert (longer.key.setting, longer.protocol) == ("horizon-20", "changed paper")


@pytest.mark.parametrize("scale", ["atlas-demo", "atlas", "atlas-sample"])
def test_made_up_bytes_follow_no_papers_protocol(scale):
    """Even where the paper's scale file has the same recipe: of situations that nobody released,
    and of predictors without parameters, such as constant velocity."""
    plan = Plan.load(ROOT / "config" / f"{scale}.yaml")
    cells = [cell for name in plan.config.scale.dimensions for cell in manifest(plan, name).cells]
    made_up = [cell for cell in cells if cell.source == "synthetic"]
    assert {cell.protocol for cell in made_up} == {
        "atlas-demo": {"atlas-demo"}, "atlas": {"stand-in"}, "atlas-sample": set()
    }[scale]  # fmt: skip
    for cell in cells:  # whose protocol is the paper's, the bytes are its own
        if cell.protocol == "paper":
            releases = [plan.config.datasets[name] for name in cell.bytes_of]
            assert all(one.releases[one.release].is_papers for one in releases)


def test_a_test_set_is_not_better_known_than_what_the_model_was_trained_on(tmp_path, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    wanted = {
        "models": ["convlstm", "persistence"],
        "cells": [{"trained_on": "kitti", "tested_on": "caltech"}],
    }
    known = {"official": {"files": [{"path": "all.zip", "sha256": "0" * 64}]}}
    plan = overridden(
        dimensions={"generalization": wanted}, datasets={"caltech": {"releases": known}}
    )

    def sure() -> dict[str, str | None]:
        cells = judged(plan, "generalization")
        return {cell.key.model: cell.bytes_known_by for cell in cells}

    assert sure() == {"convlstm": "stated", "persistence": "stated"}
    write_official(plan, ["caltech"])
    assert sure() == {"convlstm": "stated", "persistence": "checksums"}  # the one is not trained
    write_official(plan, ["kitti"])
    assert sure() == {"convlstm": "counts", "persistence": "checksums"}


def evidence_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read locks, which name 100,000 files, once for a dataset instead of for each dimension."""
    results: dict[str, tuple[RawFacts, tuple[str | None, str]]] = {}
    evidence = data_origin._evidence

    def once(name: str, raw: RawFacts) -> tuple[str | None, str]:
        if name not in results:
            results[name] = raw, evidence(name, raw)
        assert results[name][0] == raw
        return results[name][1]

    monkeypatch.setattr(data_origin, "_evidence", once)


@pytest.mark.long(part="kinds")
def test_a_lab_with_all_official_bytes_gets_all_differences(tmp_path, monkeypatch):
    """Though checksums are known of two datasets only."""
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    plan = Plan.load(PAPER)
    cells = [cell for name in plan.config.scale.dimensions for cell in judged(plan, name)]
    assert {(cell.bytes_known_by, cell.comparable) for cell in cells} == {("stated", False)}
    write_official(plan, {name for cell in cells for name in cell.bytes_of})
    evidence_once(monkeypatch)
    cells = [cell for name in plan.config.scale.dimensions for cell in judged(plan, name)]
    assert all(cell.comparable and cell.official_paper_protocol for cell in cells)
    rows = {tuple(v for k, v in vars(one.key).items() if k != "seed"): one for one in cells}
    known = [one.bytes_known_by for one in rows.values()]
    assert {level: known.count(level) for level in known} == {"checksums": 30, "counts": 465}


def test_fewer_clips_than_published_are_only_stated_to_be_official(tmp_path, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    plan = overridden(dimensions={"short_term": {"models": ["convlstm"], "datasets": ["kth"]}})
    write_official(plan, ["kth"])
    receipt = plan.store / plan.data("kth").receipt
    known = []
    for test in (4043, 4042):
        content = json.loads(receipt.read_text())
        content["extras"]["clips"]["test"] = test
        receipt.write_text(json.dumps(content))
        (cell,) = judged(plan, "short_term")
        known.append((cell.bytes_known_by, cell.comparable))
    assert known == [("counts", True), ("stated", False)]


def test_what_is_declared_later_makes_tables_again_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    wanted = {"short_term": {"models": ["convlstm"], "datasets": ["moving_mnist"]}}
    release = yaml.safe_load((ROOT / "config" / "datasets" / "moving_mnist.yaml").read_text())
    files = release["releases"]["official"]["files"]
    bare = [{key: v for key, v in file.items() if key == "path"} for file in files]

    def plan(declared: list[dict]) -> Plan:
        changes = {"releases": {"official": {"files": declared}}}
        return overridden(dimensions=wanted, datasets={"moving_mnist": changes})

    before, after = plan(bare), plan(files)
    assert list(before.artefacts) == list(after.artefacts)
    assert manifest(before, "short_term") != manifest(after, "short_term")
    write_official(after, ["moving_mnist"])
    assert judged(after, "short_term")[0].bytes_known_by == "checksums"
    wrong = [{**file, "bytes": 1} for file in bare]
    with pytest.raises(StpError, match=r"moving_mnist.*\.lock\.json"):
        judged(plan(wrong), "short_term")


def test_a_manifest_has_a_line_for_each_cell(paper):
    text = manifest_text(manifest(paper, "robustness"))
    # 15 models, three datasets, three intervals
    assert sum('"robustness", "model"' in line for line in text.splitlines()) == 135


@pytest.mark.parametrize(
    "scale", long_except(["demo", "atlas-demo"], ["demo", "atlas-demo", "paper", "atlas"], "kinds")
)
def test_what_is_written_is_what_is_read(scale, tmp_path, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    plan = Plan.load(ROOT / "config" / f"{scale}.yaml")
    for dimension in plan.config.scale.dimensions:
        written = manifest(plan, dimension)
        path = tmp_path / f"{dimension}.json"
        path.write_text(manifest_text(written))
        assert load_manifest(path) == replace(written, cells=judged(plan, dimension))


def test_a_value_of_another_type_is_refused_with_its_place(paper, tmp_path):
    content = json.loads(manifest_text(manifest(paper, "robustness")))
    content["cells"][2]["key"]["seed"] = "0"
    path = tmp_path / "robustness.json"
    path.write_text(json.dumps(content))
    with pytest.raises(StpError, match=r"robustness.json: cells\[2\].key.seed .*'0'"):
        load_manifest(path)


def test_an_override_of_the_papers_own_file_is_not_the_papers_protocol():
    cells = entries(of_moving_mnist(models={"convlstm": {"train": {"epochs": 1}}}))
    assert not cells["convlstm", "moving_mnist"].follows_paper
    assert cells["convlstm", "moving_mnist"].protocol == "changed paper"
    assert cells["simvpv2", "moving_mnist"].follows_paper


def test_threads_and_prediction_batches_do_not_change_a_protocol():
    changes = {"train": {"threads": 2}, "predict": {"batch_size": 3, "threads": 1}}
    cells = entries(of_moving_mnist(**changes))
    assert all(entry.protocol == "paper" for entry in cells.values())


def test_several_samples_are_not_the_papers_protocol_and_how_many_are_kept_is_no_part_of_it():
    drawn = {"models": ["mcvd"], "datasets": ["kth"]}
    case = {"trained_on": "weatherbench", "subset": "extrapolation", "setting": {"horizon": 20}}
    rolled = {"models": ["mcvd"], "cells": [{**case, "keep": 3}]}
    changes = {"short_term": drawn, "long_term": rolled}

    def cells(**mcvd) -> list[Cell]:
        plan = overridden(dimensions=changes, models={"mcvd": mcvd})
        return [cell for name in changes for cell in manifest(plan, name).cells
                if cell.key.model == "mcvd"]  # fmt: skip

    short, long = (
        next(cell for cell in cells() if cell.key.tested_on == name)
        for name in ("kth", "weatherbench")
    )
    assert short.protocol == long.protocol == "paper"
    assert (short.samples, short.statistic, short.kept) == (1, None, None)
    assert long.predictions is None and long.kept == 3
    several = cells(predict={"samples": 10}, statistic="best_of_members")
    assert {(cell.samples, cell.statistic) for cell in several} == {(10, "best_of_members")}
    assert {cell.protocol for cell in several} == {"changed paper"}


def test_metrics_of_ensembles_are_described_where_there_is_one(paper):
    plan = overridden(models={"mcvd": {"predict": {"samples": 2}}})
    more = {"crps.fair", "spread.pooled", "spread.skill_ratio"}
    more |= {"crps.weighted", "spread.weighted", "spread.weighted_skill_ratio"}  # of weather
    found, before = (set(manifest(p, "short_term").conventions) for p in (plan, paper))
    assert found - before == more


def test_other_releases_of_official_bytes_are_not_the_papers_test_set():
    cells = entries(of_moving_mnist(datasets={"moving_mnist": {"release": "generated"}}))
    assert cells["persistence", "moving_mnist"].protocol == "changed paper"
    assert cells["persistence", "moving_mnist"].source == "official"


def test_columns_keep_the_papers_order_and_directions(paper):
    made = manifest(paper, "short_term")
    table = made.tables["short_term"]
    assert [column.name for column in table.columns["kth"]] == ["SSIM", "PSNR", "LPIPS", "FVD"]
    assert by_name(table.columns["human36m"])["FVD"].convention == "fvd.zero_padded"
    ssim, *_, fvd = (made.conventions[column.convention] for column in table.columns["kth"])
    assert ssim.higher_is_better and not fvd.higher_is_better
    # nino34 is a skill, but its RMSE is an error
    assert made.conventions["nino34.correlation"].higher_is_better
    assert not made.conventions["nino34.rmse"].higher_is_better
    # Too many rain events are as wrong as too few.
    bias = made.conventions["frequency_bias.mean"]
    assert bias.higher_is_better is None and bias.best_at == 1
    assert "alexnet" in made.unavailable["lpips.alex"]


def test_the_manifest_changes_with_the_code_of_collecting_and_not_of_rendering(tmp_path):
    copy_package(tmp_path)
    before = manifest(Plan(config.load(DEMO), ROOT), "short_term")
    assert manifest(Plan(config.load(DEMO), tmp_path), "short_term") == before
    table, scores = (
        tmp_path / "stp" / name for name in ("render/tables/paper_table.py", "collect/scores.py")
    )
    table.write_text(table.read_text() + "\nCHANGED = 1\n")
    assert manifest(Plan(config.load(DEMO), tmp_path), "short_term") == before
    scores.write_text(scores.read_text() + "\nCHANGED = 1\n")
    after = manifest(Plan(config.load(DEMO), tmp_path), "short_term")
    assert after.code != before.code


def held(plan: Plan, dimension: str) -> str:
    """A hash of what the cells and the columns of a manifest say, but texts and fingerprints."""
    content = json.loads(manifest_text(manifest(plan, dimension)))
    cells = [{k: v for k, v in cell.items() if k != "subset_note"} for cell in content["cells"]]
    said = json.dumps([cells, content["tables"], content["kinds"], content["published_clips"]])
    said = said.replace(content["store"], "")
    return digest(re.sub("[0-9a-f]{16}", "", said))


@pytest.mark.parametrize("scale", HELD)
def test_cells_and_columns_of_the_shipped_scales_are_held(scale, tmp_path, monkeypatch):
    monkeypatch.setenv("STP_WEIGHTS_DIR", str(tmp_path))
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    plan = Plan.load(ROOT / "config" / f"{scale}.yaml")
    assert {name: held(plan, name) for name in plan.dimensions} == HELD[scale]
