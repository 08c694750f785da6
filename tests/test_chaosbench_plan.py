"""The plan of the scale files of ChaosBench: what is read, what is scored, and what it costs."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from typer.testing import CliRunner

from stp.cli import app
from stp.collect.published import read_published
from stp.core.errors import StpError
from stp.core.options import build
from stp.datasets.chaosbench.reader import ChaosbenchOptions, count
from stp.models.create import create
from stp.plan import config
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan, Raw
from stp.plan.checked_config import in_order
from stp.plan.column import by_name
from stp.plan.dataset import Release
from stp.plan.manifests import manifest
from stp.prepare.planned_counts import Lists
from stp.run import runner
from stp.run.costs.estimate import Costs

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def paper() -> Plan:
    return Plan.load(ROOT / "config" / "chaosbench.yaml")


@pytest.fixture(scope="module")
def demo() -> Plan:
    return Plan.load(ROOT / "config" / "chaosbench-demo.yaml")


def test_no_forecast_of_the_paper_scale_is_stored_before_it_is_scored(paper: Plan) -> None:
    assert all(made.predictions is None for made in paper.cells)
    # The same one, a start of all subsets, of ECMWF (Mondays and Thursdays) and of networks.
    assert all(
        made.scores.recipe["keep"] == ["2022-09-01"]
        for made in paper.cells
        if made.cell.dimension == "s2s_control" and made.keep
    )


def test_an_archive_is_read_by_all_cells_of_its_model_and_locked_once(paper: Plan) -> None:
    locks: dict[str, set[str]] = {}
    for made in paper.cells:
        archive = made.scores.inputs.get("archive")
        if archive is not None:
            assert isinstance(archive, Raw) and archive.release == "official"
            assert paper.raw_of(archive.lock) is archive
            locks.setdefault(made.cell.model, set()).add(archive.lock)
    assert len(locks) == 13 and all(len(lock) == 1 for lock in locks.values())
    assert locks["ecmwf"] == {"raw/ecmwf-chaosbench/official.lock.json"}


def test_reading_an_archive_takes_time(paper: Plan) -> None:
    """Of one control forecast reading is all: 434 GB, twice, at 500 MB/s, is half an hour."""
    made = next(made for made in paper.cells if made.cell.model == "ncep")
    work = Costs(paper).workload.of(made.scores)
    assert work.reading_mb == pytest.approx(2 * 434_000)


def test_a_generated_archive_is_made_and_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    plan = Plan.load(ROOT / "config" / "chaosbench-demo.yaml")
    archives = {
        archive.dataset: archive
        for made in plan.cells
        if (archive := made.scores.inputs.get("archive")) is not None
    }
    for name, archive in archives.items():
        model = name.removesuffix("-chaosbench")
        assert archive.place == f"config/models/{model}.yaml: archives.chaosbench.synthetic"
    lock = runner.fetch(plan, archives["panguweather-chaosbench"])
    assert json.loads(lock.read_text())["source"] == "synthetic"


def test_a_release_with_the_official_names_and_counts_is_planned_and_costed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few bytes under the official names: only checksums tell them from the official ones."""
    raw = tmp_path / "raw"
    monkeypatch.setenv("STP_RAW_DIR", str(raw))
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    scale = yaml.safe_load((ROOT / "config" / "chaosbench.yaml").read_text())
    parts = [{"path": f"chaosbench/era5/era5_chunks.tar.gz.{part}"} for part in ("aa", "ab")]
    scale["datasets"] = {"chaosbench": {"releases": {"official": {"files": parts}}}}
    plan = Plan.load(scale)
    compared = {name for one in scale["dimensions"].values() for name in one["models"]}
    declared = [
        model.archives["chaosbench"]["official"].files[0].path
        for name, model in plan.config.models.items()
        if name in compared and "chaosbench" in model.archives
    ]
    assert len(declared) == 13
    for path in ("chaosbench/era5/era5_chunks.tar.gz.*", *declared):
        for part in ("aa", "ab"):
            file = raw / path.replace("*", part)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(path + part)
    inputs = [made.scores.inputs for made in plan.cells]
    locks = {given["archive"].lock for given in inputs if "archive" in given}
    assert len(locks) == 13
    for release in (*map(plan.raw_of, locks), plan.raw_of("chaosbench")):
        lock = runner.fetch(plan, release)
        archives = 4 if "multi_model" in release.lock else 1
        assert len(json.loads(lock.read_text())["files"]) == 2 * archives
    # The clips of the calendar are those that the configuration states.
    dataset = plan.config.datasets["chaosbench"]
    planned = Counter(clip.split for clip in count(plan.data("chaosbench").recipe, Lists(())).clips)
    stated = {split: getattr(dataset.counts, split) for split in ("train", "val", "test")}
    assert planned == {**stated, **{name: of.clips for name, of in dataset.subsets.items()}}
    # With all bytes there: preparing and every scoring has a cost of its own.
    costs = Costs(plan)
    parts_of = {artefact.stage for artefact in plan.artefacts.values()}
    assert {"prepare", "score"} <= parts_of
    assert all(costs.of(artefact).seconds > 0 for artefact in plan.artefacts.values())
    file = tmp_path / "scale.yaml"
    file.write_text(yaml.safe_dump(scale))
    said = CliRunner().invoke(app, ["plan", "--configfile", str(file)], catch_exceptions=False)
    rows = [line.replace("│", " ").split() for line in said.output.splitlines()]
    jobs = {row[0]: (row[1], row[2]) for row in rows if len(row) > 7}  # and how many are done
    assert jobs["fetch"] == ("14", "14") and jobs["prepare"] == ("1", "0")
    assert jobs["score_s2s_control"] == ("103", "0") and jobs["score_s2s_ensemble"] == ("42", "0")


def test_networks_are_trained_as_their_task_and_scheme_say(paper: Plan) -> None:
    """One network for each variant, but for direct forecasts, which have one for each lead time."""
    trained = {
        (made.cell.model, made.cell.variant): [
            one.recipe
            for one in made.scores.inputs.values()
            if isinstance(one, Artefact) and one.stage == "train"
        ]
        for made in paper.cells
    }
    (task1,), (task2,) = trained["unet", "default"], trained["unet", "task2_steps5"]
    assert (task1["horizon"], task2["horizon"]) == (1, 5)
    assert "targets" not in task1["train"]
    assert task2["train"]["targets"] == ["t_850", "z_500", "q_700"]
    direct = trained["unet", "direct"]
    leads = [1, 5, 10, 15, 20, 25, 30, 35, 40, 44]
    assert [(recipe["lead"], recipe["horizon"]) for recipe in direct] == [(n, 1) for n in leads]
    sparse = trained["unet", "task2_direct"]
    assert [recipe["lead"] for recipe in sparse] == leads
    targets = [*(recipe["train"] for recipe in sparse), trained["climax", "task2"][0]["train"]]
    assert all(train["targets"] == ["t_850", "z_500", "q_700"] for train in targets)
    (autoregressive,) = {
        tuple(made.scores.recipe.get("leads", ()) or made.scores.forecast.get("leads", ()))
        for made in paper.cells
        if (made.cell.model, made.cell.variant) == ("unet", "direct")
    }
    assert list(autoregressive) == leads, "rows exist for forecast lead times only"


def test_untouched_starts_are_of_another_year_and_of_networks_as_they_are(demo: Plan) -> None:
    """20 of 2023, scored by the same trainings as the starts of the test."""
    planned = Counter(clip.split for clip in count(demo.data("chaosbench").recipe, Lists(())).clips)
    dataset = demo.config.datasets["chaosbench"]
    counts = {split: getattr(dataset.counts, split) for split in ("train", "val", "test")}
    assert planned == {**counts, "untouched": dataset.subsets["untouched"].clips}
    options = build(ChaosbenchOptions, demo.data("chaosbench").recipe["options"], "options")
    assert len(options.days) == dataset.counts.frames
    networks = {
        subset: {
            made.cell.model: made.models
            for made in demo.cells
            if made.cell.subset == subset and made.cell.variant == "default" and made.models
        }
        for subset in ("test", "untouched")
    }
    assert networks["untouched"] == networks["test"] and len(networks["test"]) == 6
    tested = {made.cell.model for made in demo.cells if made.cell.subset == "untouched"}
    assert tested == {"persistence", *networks["test"]}


def test_variants_that_differ_in_forecasts_alone_share_trainings(demo: Plan) -> None:
    """Interpolated or not, the ten networks are the same; others see levels alone."""
    made = {
        one.cell.variant: one
        for one in demo.cells
        if (one.cell.model, one.cell.subset) == ("resnet", "test")
    }
    direct, between = made["direct"], made["direct_interpolated"]
    assert len(direct.models) == 10 and direct.models == between.models
    sparse = made["task2_direct"]
    assert len({model.folder for model in (*direct.models, *sparse.models)}) == 20
    recipes = {name: (one.predictions or one.scores).forecast for name, one in made.items()}
    assert [name for name, recipe in recipes.items() if "interpolated" in recipe] == [
        "direct_interpolated"
    ]
    (levels,) = made["levels"].models
    assert levels.recipe["channels"] == recipes["levels"]["channels"] == ["?_*"]


def test_members_of_five_trainings_are_those_of_the_model_itself(paper: Plan) -> None:
    """With the seed of the cell and the next ones; the first is that of the single forecasts."""
    made = {
        (one.cell.dimension, one.cell.variant): one
        for one in paper.cells
        if one.cell.model == "unet" and one.cell.subset == "test"
    }
    several = made["s2s_ensemble", "trainings5"]
    assert [model.recipe["seed"] for model in several.models] == [42, 43, 44, 45, 46]
    assert several.models[:1] == made["s2s_control", "default"].models
    assert list(several.scores.inputs) == ["data", *(f"model-member-{n}" for n in range(5))]
    assert paper.members(several.cell) == (5, "ensemble_mean")


@pytest.mark.parametrize(("model", "variant"), [("unet", "direct"), ("persistence", "default")])
def test_members_of_trainings_need_one_network_that_is_trained(model: str, variant: str) -> None:
    cell = {"trained_on": "chaosbench", "variant": variant, "models": [model]}
    scale = {
        **{"scale": "x", "suite": "chaosbench", "seeds": [0]},
        "dimensions": {"s2s_control": {"models": [model], "cells": [cell]}},
        "models": {model: {"predict": {"trainings": 3}}},
    }
    with pytest.raises(StpError, match=r"predict\.trainings"):
        Plan.load(scale)


def test_a_training_costs_as_many_steps_as_it_unrolls(paper: Plan) -> None:
    """22.1 G multiply-adds for each day, three times in a step, 13,469 starts, 500 epochs."""
    costs = Costs(paper)
    workload = costs.workload
    trained = [one for one in paper.artefacts.values() if one.stage == "train"]
    networks = {"lagged_ae", "resnet", "unet", "fno", "vae", "climax"}
    assert {one.recipe["model"] for one in trained} == networks
    assert all(costs.of(one).seconds > 80_000 for one in trained), "a day at least"
    amounts = {}
    for made in paper.cells:
        if made.cell.model == "unet" and made.cell.variant in ("default", "steps5"):
            model = made.scores.inputs["model"]
            assert isinstance(model, Artefact)
            amounts[made.cell.variant] = workload.of(model).amount
    once = 22.144 * (3 * 13_469 + 2_147) * 500
    assert amounts["default"] == pytest.approx(once, rel=0.01)
    assert amounts["steps5"] == pytest.approx(5 * once, rel=0.01)


def kept_mb(recipe: dict[str, Any]) -> float:
    """MB that a training step keeps of one more clip for the backward pass, on no device."""

    def of(clips: int) -> int:
        kept: dict[int, int] = {}

        def note(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()
            kept[storage._cdata] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            loss = model.loss(torch.zeros(clips, 2, *recipe["shape"], device="meta"), 0)
        assert loss.requires_grad
        return sum(kept.values())

    with torch.device("meta"):
        model = create(recipe).train()
    return (of(2) - of(1)) / 1e6  # without the weights, which are kept as well


def test_a_training_names_memory_of_its_gpu_and_hours_of_computing_and_of_reading(
    paper: Plan,
) -> None:
    """Activations of 32 clips of 60 variables, and four times the weights."""
    costs = Costs(paper)
    networks = {
        made.cell.model: made.models[0]
        for made in paper.cells
        if made.models and made.cell.variant == "default"
    }
    for name, training in networks.items():
        cost, parameters = costs.of(training), costs.workload.of(training).weights_mb
        expected = 4 * parameters + 32 * kept_mb(training.recipe)
        assert cost.gpu_mb == pytest.approx(expected, rel=0.02), name
        start = costs.constants.start_s.train + costs.constants.start_s.gpu
        assert cost.seconds == start + max(cost.computing_s, cost.reading_s)
    # Two days of 7 MB a clip, at 500 MB/s, of 500 epochs
    hours = 500 * 2 * (13_469 + 2_147) * 60 * 121 * 240 * 4 / 500e6 / 3600
    assert costs.of(networks["unet"]).reading_s / 3600 == pytest.approx(hours, rel=0.01)
    assert costs.of(networks["unet"]).computing_s < costs.of(networks["unet"]).reading_s
    # 490 G for each clip, three times in a step, of 50 epochs, at 19,410 G a second on an H200
    seconds = 50 * 489.6 * (3 * 13_469 + 2_147) / 19_410
    assert costs.of(networks["climax"]).computing_s == pytest.approx(seconds, rel=0.01)


@pytest.mark.parametrize("name", ["chaosbench", "chaosbench-demo"])
def test_the_sizes_of_networks_are_those_of_their_modules(name: str) -> None:
    """Counted for 60 variables of 121 x 240 points, and for the narrow ones of the demo."""
    plan = Plan.load(ROOT / "config" / f"{name}.yaml")
    facts = Costs(plan).workload.facts
    found: dict[str, int] = {}
    stated: dict[str, int | None] = {}
    for made in plan.cells:
        if made.models and made.cell.variant == "default":
            recipe = made.models[0].recipe
            with torch.device("meta"):
                network = create(recipe)
            found[made.cell.model] = sum(p.numel() for p in network.parameters())
            stated[made.cell.model] = facts.size(made.cell.model, "chaosbench").value.parameters
    assert len(found) == 6 and found == stated


def test_land_and_ocean_have_a_scale_of_their_own() -> None:
    """It decides finding 10: UNet with four of them, and without. It is not the protocol."""
    plan = Plan.load(ROOT / "config" / "chaosbench-surface.yaml")
    dataset, data = plan.config.datasets["chaosbench"], plan.data("chaosbench").recipe
    options = build(ChaosbenchOptions, data["options"], "options")
    assert dataset.shape[0] == len(options.channels) == 60 + len(options.surface)
    known = config.load(ROOT / "config" / "chaosbench.yaml").datasets["chaosbench"]
    assert dataset.releases["official"].files[:2] == known.releases["official"].files
    recipes = {made.cell.variant: made.models[0].recipe for made in plan.cells if made.models}
    assert set(recipes) == {"default", "levels"} and recipes["levels"]["channels"] == ["?_*"]
    with torch.device("meta"):
        network = create(recipes["default"])
    stated = Costs(plan).workload.facts.size("unet", "chaosbench").value.parameters
    assert sum(p.numel() for p in network.parameters()) == stated
    assert not any(cell.follows_paper for cell in manifest(plan, "s2s_control").cells)


def test_corrected_forecasts_are_read_twice_and_combined_archives_stored_once(paper: Plan) -> None:
    work = Costs(paper).workload
    plain, corrected = (
        work.of(
            next(
                one.scores
                for one in paper.cells
                if (one.cell.model, one.cell.variant) == ("ncep", variant)
            )
        )
        for variant in ("default", "corrected")
    )
    assert corrected.reading_mb == 2 * plain.reading_mb
    # All centres together are read, and their files are stored once.
    archives = {
        name: paper.raw_of(f"raw/{name}-chaosbench/official.lock.json")
        for name in ("ncep", "multi_model", "multi_model_ensemble")
    }
    stored = {name: Costs(paper).of_raw(raw).bytes for name, raw in archives.items()}
    assert stored == {"ncep": 434e9, "multi_model": 0, "multi_model_ensemble": 0}


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
    assert found == 13


def test_an_archive_of_another_release_cannot_be_taken() -> None:
    scale = yaml.safe_load((ROOT / "config" / "chaosbench-demo.yaml").read_text())
    scale["datasets"]["chaosbench"] |= {
        "release": "other",
        "releases": {"other": {"source": "own", "files": [{"path": "x.tar.gz.aa"}]}},
    }
    with pytest.raises(StpError, match="'other'"):
        Plan.load(scale)


def test_a_source_belongs_to_models_whose_forecasts_are_read() -> None:
    path = ROOT / "config" / "models" / "ecmwf.yaml"
    for change in ({"fit": "none"}, {"source": None}):
        with pytest.raises(StpError, match="source"):
            config.check(config.Model, {**yaml.safe_load(path.read_text()), **change}, str(path))


def test_other_data_as_the_page_says() -> None:
    def options_of(heading: str) -> tuple[Release, ChaosbenchOptions, int]:
        block = page.split(heading)[1].split("```yaml\n")[1].split("```")[0]
        made = config.load({**scale, **yaml.safe_load(block)}).datasets["chaosbench"]
        release = made.releases["official"]
        return (
            release,
            build(ChaosbenchOptions, in_order(release.prepare), "options"),
            made.shape[0],
        )

    page = (ROOT / "docs" / "chaosbench.md").read_text(encoding="utf-8")
    scale = yaml.safe_load((ROOT / "config" / "chaosbench.yaml").read_text())
    release, options, channels = options_of("## Land and ocean")
    assert [file.path.split("/")[1] for file in release.files] == ["era5", "lra5", "oras5"]
    assert channels == len(options.channels) == 64
    release, options, _ = options_of("## ERA5 from WeatherBench 2")
    assert options.store is not None and f"{options.store}/**/*" == release.files[0].path
    _, options, _ = options_of("## Climatologies and normalisation")
    assert (options.window_days, options.normalisation) == (None, "published")
    assert options.published_climatology == [1994, 2023]


def test_panels_show_what_is_scored_and_printed_curves_have_one_each(paper: Plan) -> None:
    """A panel of a convention that is not scored would be left out of the figure."""
    plan = manifest(paper, "s2s_ensemble")
    curves = plan.tables["s2s_ensemble"].curves["chaosbench"]
    (several,) = {
        tuple(made.scores.recipe["conventions"])
        for made in paper.cells
        if made.cell.model == "ecmwf_ensemble"
    }
    conventions = {curve.convention for curve in curves}
    assert conventions <= set(several)
    # Waves have a figure of their own.
    of_metrics, drawn = (
        {name.partition(".")[0] for name in names} for names in (several, conventions)
    )
    assert of_metrics - drawn == {"spectral_coherence"}
    printed = {
        f"{one.variable} {one.metric}"
        for one in read_published(plan.published)
        if one.metric.endswith("curve")
    }
    assert len(printed) == 9 and printed == {
        one.name for one in curves if one.name.endswith("curve")
    }
    columns = by_name(manifest(paper, "s2s_control").tables["s2s_control"].columns["chaosbench"])
    of_day_44 = {
        f"{one.variable} {one.metric}"
        for one in read_published(plan.published)
        if not one.metric.endswith("curve")
    }
    assert of_day_44 <= set(columns), "a printed value without a column is shown nowhere"
    of_starts = columns["t850 SpecDiv of 32 starts"]
    assert of_starts.convention == "spectral_divergence.high_wavenumbers_batch32"


def test_values_beside_printed_ones_of_another_definition_say_so(paper: Plan) -> None:
    """Each printed score has an entry, and what entries name can be had in this suite."""
    suite, models = paper.config.suite, paper.config.models.values()
    printed = {
        one.metric.removesuffix(" curve").removesuffix(" of 32 starts")
        for one in read_published(suite.published_file)
    }
    about = " ".join(one.about for one in suite.deviations).replace(" and ", " ").split()
    assert printed == {"RMSE", "ACC", "CRPSS", "MS-SSIM", "SpecDiv"} <= set(about)
    conventions = {c for made in paper.cells for c in made.scores.recipe["conventions"]}
    known = conventions | {name.partition(".")[2] for name in conventions}
    known |= {name for model in models for name in model.variants}
    known |= {"_of_members", *paper.config.datasets["chaosbench"].subsets}
    named = {name for one in suite.deviations for name in re.findall("`(.+?)`", one.strict)}
    assert len(named) > 10 and named <= known
    assert {name for one in suite.deviations for name in one.dimensions} <= set(suite.dimensions)
    shown = manifest(paper, "s2s_control").deviations
    assert "CRPSS" not in {one.about for one in shown} and len(shown) < len(suite.deviations)
