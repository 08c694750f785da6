"""The plan: cells, recipes, paths, and what a change of code or configuration reaches."""

import cProfile
import shutil
from pathlib import Path

import pytest
import yaml
from package_copy import copy_package

from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.plan import config
from stp.plan.artefacts import Artefact, Raw
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.plan.column import Column
from stp.plan.setting import setting_name, setting_of

ROOT = Path(__file__).parent.parent
DEMO = ROOT / "config" / "demo.yaml"
HELD = yaml.safe_load((ROOT / "tests" / "held_plans.yaml").read_text())["recipes"]


def demo(**changes):
    """The short-term part of the demo."""
    scale = yaml.safe_load(DEMO.read_text())
    scale["dimensions"] = {"short_term": scale["dimensions"]["short_term"]}
    return merge(scale, changes)


@pytest.fixture(scope="module")
def paper() -> Plan:
    return Plan.load(ROOT / "config" / "paper.yaml")


def test_the_papers_protocol_is_read_from_its_appendix(paper):
    # PredBench, appendix D: ConvLSTM on M-MNIST 16, 5e-4, OneCycle, 200 epochs; KTH constant
    recipe = paper.recipes.train("convlstm", "moving_mnist", 42)
    assert recipe.train["batch_size"] == 16
    assert recipe.train["lr"] == 5e-4
    assert recipe.train["schedule"] == "onecycle"
    assert recipe.train["epochs"] == 200
    assert recipe.options["patch_size"] == 4
    assert paper.recipes.train("convlstm", "kth", 42).train["schedule"] == "constant"


def test_every_protocol_value_is_a_number(paper):
    for made in paper.cells:
        for key, value in paper.recipes.settings(
            made.cell.model, made.cell.trained_on, "train"
        ).items():
            if key in ("lr", "batch_size", "epochs", "iterations", "weight_decay"):
                assert isinstance(value, int | float), (made.cell, key, value)


def test_the_scale_wins_over_the_papers_facts_and_the_particular_over_the_general():
    plan = Plan(
        config.load(
            {
                **demo(),
                "train": {"epochs": 3, "lr": 0.1},
                "models": {
                    "convlstm": {
                        "train": {"lr": 0.2},
                        "datasets": {"kth": {"train": {"lr": 0.3}}},
                    }
                },
            }
        )
    )
    train = plan.recipes.settings("convlstm", "moving_mnist", "train")
    assert (train["epochs"], train["lr"]) == (3, 0.2)
    assert plan.recipes.settings("convlstm", "kth", "train")["lr"] == 0.3
    assert plan.recipes.settings("simvpv2", "kth", "train")["lr"] == 0.1


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"models": {"convlstm": {"datasets": {"enso": {"train": {"lr": -1}}}}}},
            ["convlstm on enso", "lr", "-1"],
        ),
        ({"train": {"epoch": 3}}, ["convlstm", "epochs"]),
        ({"predict": {"batch_size": 0}}, ["batch_size", "0"]),
    ],
)
def test_recipes_that_a_job_would_refuse_are_refused_when_planned(changes, parts):
    with pytest.raises(StpError) as error:
        Plan(config.load(demo(**changes)))
    for part in parts:
        assert part in str(error.value)


def test_only_models_with_randomness_have_seeds():
    plan = Plan(config.load(demo(seeds=[0, 1])))
    seeds = {}
    for made in plan.cells:
        seeds.setdefault(made.cell.model, set()).add(made.cell.seed)
    assert seeds["convlstm"] == {0, 1}
    assert seeds["persistence"] == seeds["climatology"] == {None}


def test_models_without_anything_to_fit_have_no_training():
    plan = Plan.load(DEMO)
    fitted = {made.cell.model for made in plan.cells if made.models}
    assert fitted == {"climatology", "convlstm", "simvpv2"}


# The dimensions of the evaluation


def case(plan: Plan, dimension: str, model: str = "convlstm") -> list[str]:
    """What one model is evaluated on in a dimension."""
    cells = [m.cell for m in plan.cells if (m.cell.dimension, m.cell.model) == (dimension, model)]
    return [f"{c.trained_on}->{c.tested_on} {c.subset} {c.setting}" for c in cells]


def test_the_papers_other_dimensions_are_those_of_its_sections_4_2_to_4_4(paper):
    # BridgeData and nuScenes to 30 frames, WeatherBench for 5 days of 6 hours
    assert case(paper, "long_term") == [
        "bridge->bridge extrapolation horizon-30",
        "nuscenes->nuscenes extrapolation horizon-30",
        "weatherbench->weatherbench extrapolation horizon-20",
    ]
    assert case(paper, "generalization") == [
        "bridge->bridge original_scene_new_task horizon-10",
        "bridge->bridge new_scene_original_task horizon-10",
        "bridge->bridge new_scene_new_task horizon-10",
        "kitti->caltech test horizon-10",
        "nuscenes->caltech test horizon-10",
        "nuscenes->kitti test horizon-10",
        "traffic4cast->traffic4cast moscow horizon-3",
    ]
    robustness = case(paper, "robustness")
    assert robustness[:3] == [
        f"bridge->bridge robustness horizon-10+interval-{k}" for k in (1, 2, 3)
    ]
    assert len(robustness) == 9


def test_training_is_shared_by_all_dimensions(paper):
    models = {m.models[0].folder for m in paper.cells if m.cell.model == "convlstm"}
    # Caltech is for tests only
    assert len(models) == 14
    found = {m.cell.dimension: m for m in paper.cells if m.cell.model == "convlstm"}
    assert found["robustness"].predictions.recipe["interval"] == 3
    assert found["long_term"].scores.recipe["rollout"]["lead_times"] == 20
    assert found["long_term"].scores.recipe["rollout"]["horizon"] == 1
    assert "interval" not in found["short_term"].predictions.recipe


def test_across_datasets_the_test_reads_the_tested_data_and_the_trained_model(paper):
    (made,) = [
        m for m in paper.cells
        if (m.cell.model, m.cell.trained_on, m.cell.tested_on) == ("convlstm", "kitti", "caltech")
    ]  # fmt: skip
    inputs = made.predictions.inputs
    assert inputs["data"].label == "caltech"
    assert inputs["model"].label == "convlstm on kitti, seed 42"
    assert made.predictions.dataset == made.scores.dataset == "caltech"


def test_a_cell_is_wanted_once():
    twice = {"short_term": {"cells": [{"trained_on": "kth"}]}}
    with pytest.raises(StpError, match="persistence on kth"):
        Plan(config.load(demo(dimensions=twice)))


def test_predictions_and_scores_know_horizon_interval_and_subset(paper):
    made = {
        m.cell.setting: m
        for m in paper.cells
        if (m.cell.dimension, m.cell.model, m.cell.tested_on)
        == ("robustness", "persistence", "bridge")
    }
    for interval in (1, 2, 3):
        cell = made[f"horizon-10+interval-{interval}"]
        recipes = cell.predictions.recipe, cell.scores.recipe
        assert [recipe.get("interval", 1) for recipe in recipes] == [interval, interval]
        assert cell.predictions.recipe["lead_times"] == 10
        assert cell.predictions.recipe["split"] == cell.scores.recipe["split"] == "robustness"
    long = next(
        m
        for m in paper.cells
        if (m.cell.dimension, m.cell.tested_on) == ("long_term", "weatherbench")
    )
    forecast = long.scores.forecast
    assert forecast["lead_times"] == 20 and forecast["horizon"] == 1
    assert "interval" not in long.scores.recipe


# Forecasts that are scored while they are made, and several forecasts of a clip


def rolled(**more) -> dict:
    """The demo with one cell in the long-term dimension whose forecasts are not stored."""
    case = {"trained_on": "kth", "setting": {"horizon": 15}, **more}
    return demo(dimensions={"long_term": {"models": ["convlstm", "persistence"], "cells": [case]}})


def of_long_term(scale: dict) -> list:
    return [made for made in Plan(config.load(scale)).cells if made.cell.dimension == "long_term"]


def test_forecasts_that_are_too_large_are_scored_while_they_are_made(paper):
    found = {m.cell.tested_on: m for m in paper.cells if m.cell.dimension == "long_term"}
    assert {name for name, made in found.items() if made.predictions is None} == {"weatherbench"}
    stored, kept = (of_long_term(rolled(**more))[0] for more in ({}, {"keep": 3}))
    assert kept.predictions is None and kept.keep == 3 and stored.keep is None
    assert set(kept.scores.inputs) == {"data", "model"}
    assert kept.scores.inputs["model"].folder == stored.models[0].folder
    own = {"rollout", "keep"}
    assert {k: v for k, v in kept.scores.recipe.items() if k not in own} == stored.scores.recipe
    assert kept.scores.recipe["rollout"] == stored.predictions.recipe
    assert kept.artefacts == [kept.data, *kept.models, kept.scores]
    assert (kept.scores.rule, kept.scores.work) == ("score_long_term", "rollout convlstm")
    assert kept.scores.is_resumable and not stored.scores.is_resumable


def test_their_job_asks_for_what_forecasts_need():
    scale = merge(
        rolled(keep=3), {"runtime": {"gpus": 4}, "predict": {"threads": 5}, "train": {"threads": 7}}
    )
    plan = Plan(config.load(scale))
    network, plain = (made.scores for made in plan.cells if made.predictions is None)
    assert (plan.gpus(network), plan.gpus(plain)) == (1, 0)
    assert plan.threads(network) == plan.threads(plain) == 5
    (short, *_) = [m for m in plan.cells if m.cell.dimension == "short_term"]
    assert (plan.gpus(short.scores), plan.threads(short.scores)) == (0, 1)


def test_where_they_are_perceived_they_are_made_by_a_second_job(monkeypatch, tmp_path):
    monkeypatch.setenv("STP_WEIGHTS_DIR", str(tmp_path))
    (tmp_path / "alexnet_features.pth").touch()
    made = of_long_term(rolled(keep=3))[0]
    assert made.perceptual.recipe["rollout"] == made.scores.recipe["rollout"]
    assert "keep" not in made.perceptual.recipe and made.scores.recipe["keep"] == 3


def test_their_scores_change_with_the_model_and_with_the_code_of_predictions(checkout):
    def folders(source: Path) -> list[str]:
        plan = Plan(config.load(rolled(keep=3)), source)
        return [made.scores.folder for made in plan.cells if made.predictions is None]

    for module, reached in (("models/convlstm.py", {0}), ("predict/forecasts.py", {0, 1})):
        edit(checkout, module)
        pairs = list(zip(folders(ROOT), folders(checkout), strict=True))
        assert {i for i, (before, after) in enumerate(pairs) if before != after} == reached
        shutil.copy(ROOT / "stp" / module, checkout / "stp" / module)


def ensemble(samples: int, **more) -> list:
    """MCVD and a model without randomness, with one forecast of each clip or several."""
    return Plan(
        config.load(
            demo(
                dimensions={"short_term": {"models": ["mcvd", "persistence"], "datasets": ["kth"]}},
                models={"mcvd": {"predict": {"samples": samples}, **more}},
            )
        )
    ).cells


def test_one_sample_is_what_is_drawn_where_nothing_is_said():
    scale = demo(dimensions={"short_term": {"models": ["mcvd"], "datasets": ["kth"]}})
    (nothing,) = Plan(config.load(scale)).cells
    one = ensemble(1, statistic="best_of_members")[0]
    assert one.predictions.folder == nothing.predictions.folder
    assert one.scores.folder == nothing.scores.folder
    assert "statistic" not in one.scores.recipe


def test_several_samples_are_scored_by_a_statistic_and_as_an_ensemble():
    one, persistence = ensemble(1)
    several, same = ensemble(10)
    assert several.predictions.recipe["predict"]["samples"] == 10
    assert several.models == one.models, "the training is shared"
    assert (same.predictions, same.scores) == (persistence.predictions, persistence.scores)
    assert several.scores.recipe["statistic"] == "mean_of_members"
    more = set(several.scores.recipe["conventions"]) - set(one.scores.recipe["conventions"])
    assert more == {"crps.fair", "spread.pooled", "spread.skill_ratio"}
    assert "higher_is_better" not in several.scores.recipe
    best = ensemble(10, statistic="best_of_members")[0]
    assert best.predictions.folder == several.predictions.folder
    higher = best.scores.recipe["higher_is_better"]
    assert set(higher) == set(best.scores.recipe["conventions"])
    assert higher["ssim.range2"] and not higher["mse.pixel_sum"]


def test_the_particular_statistic_wins():
    by_dataset = {"kth": {"statistic": "ensemble_mean"}}
    cell = ensemble(10, statistic="best_of_members", datasets=by_dataset)[0]
    assert cell.scores.recipe["statistic"] == "ensemble_mean"


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"predict": {"samples": 10}}, ["persistence", "samples", "10", "is_sampled"]),
        ({"predict": {"samples": 0}}, ["samples", "0"]),
        ({"models": {"convlstm": {"statistic": "best"}}}, ["statistic", "best_of_members"]),
    ],
)
def test_samples_and_statistics_that_cannot_be_are_refused(changes, parts):
    with pytest.raises(StpError) as error:
        Plan(config.load(demo(**changes)))
    for part in parts:
        assert part in str(error.value)


def test_perceptual_scores_are_a_second_job_where_their_weights_are(monkeypatch, tmp_path):
    monkeypatch.setenv("STP_WEIGHTS_DIR", str(tmp_path))
    assert all(made.perceptual is None for made in Plan(config.load(demo())).cells)
    before = {made.scores.folder for made in Plan(config.load(demo())).cells}
    (tmp_path / "alexnet_features.pth").touch()
    plan = Plan(config.load(demo(runtime={"gpus": 4})))
    by_dataset = {made.cell.tested_on: made for made in plan.cells}
    assert by_dataset["enso"].perceptual is None
    kth = by_dataset["kth"]
    assert list(kth.perceptual.recipe["conventions"]) == ["lpips.alex"]
    ((network, checksums),) = kth.perceptual.recipe["weights"].items()
    assert network == "alexnet" and checksums["sha256"].startswith("977ab275")
    assert "weights" not in kth.scores.recipe
    (tmp_path / "alexnet-owt-7be5be79.pth").touch()  # is preferred: other scores
    other = Plan(config.load(demo(runtime={"gpus": 4})))
    planned = {m.perceptual for m in plan.cells} - {None}
    assert {m.perceptual for m in other.cells}.isdisjoint(planned)
    assert kth.perceptual.rule == "score_perceptual_short_term"
    assert plan.gpus(kth.perceptual) == 1 and plan.gpus(kth.scores) == 0
    assert {made.scores.folder for made in plan.cells} == before, "the other scores stay"
    assert len(plan.receipts("short_term")) == 15 + 10
    assert plan.find(f"{plan.store}/{kth.perceptual.receipt}") is kth.perceptual


def test_paths_are_unique_readable_and_hold_no_equals_sign(paper):
    folders = list(paper.artefacts)
    assert len(folders) == len(set(folders))
    for folder in folders:
        assert "=" not in folder
        assert len(folder.rpartition("/")[2]) == 16
    scores = [made.scores.folder for made in paper.cells]
    assert scores[0].startswith(
        "scores/predbench/short_term/persistence/default/moving_mnist/all/moving_mnist/test/"
        "horizon-10/seed-none/"
    )


def test_settings_are_sorted_in_their_name():
    assert setting_name({"interval": 2, "horizon": 30}) == "horizon-30+interval-2"
    assert setting_of("horizon-30+interval-2") == {"interval": 2, "horizon": 30}


def test_unknown_conventions_are_refused(monkeypatch):
    loaded = config.load(DEMO)
    rows = loaded.suite.model_copy(
        update={
            "columns": {
                **loaded.suite.columns,
                "video": (Column(heading="SSIM", convention="ssim.rnge2"),),
            }
        }
    )
    with pytest.raises(StpError, match=r"rnge2(.|\n)*range2"):
        Plan(loaded.model_copy(update={"suite": rows}))


def test_find_tells_a_stale_path_from_an_unknown_one():
    plan = Plan.load(DEMO)
    folder = plan.cells[0].data.folder
    assert plan.find(plan.store / folder / "artefact.json").folder == folder
    stale = folder.rpartition("/")[0] + "/0123456789abcdef"
    errors = []
    for path in (stale, "data/nothing/0123456789abcdef"):
        with pytest.raises(StpError, match=path) as caught:
            plan.find(path)
        errors.append(caught.value.what.replace(path, ""))
    assert errors[0] != errors[1]


# What a change reaches


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of the package, to edit."""
    copy_package(tmp_path)
    return tmp_path


def edit(checkout: Path, module: str, addition: str = "\nCHANGED = 1\n") -> None:
    path = checkout / "stp" / module
    path.write_text(path.read_text() + addition)


def changed(checkout: Path, scale=None) -> set[tuple[str, str]]:
    """The (stage, dataset/model) of every artefact whose path differs from today's."""
    before = {a.folder for a in Plan(config.load(demo())).artefacts.values()}
    plan = Plan(config.load(scale or demo()), checkout)
    found = set()
    for artefact in plan.artefacts.values():
        if artefact.folder not in before:
            recipe = artefact.recipe
            model = recipe.get("model") or recipe.get("cell", {}).get("model", "")
            dataset = recipe.get("dataset") or artefact.label.split(" on ")[1].split(",")[0]
            found.add((artefact.stage, f"{dataset.split(' ')[0]}/{model}".rstrip("/")))
    return found


DATASETS = ("moving_mnist", "kth", "enso")
MODELS = ("persistence", "climatology", "context_mean", "convlstm", "simvpv2")


def everywhere(stage: str, models=MODELS, datasets=DATASETS) -> set[tuple[str, str]]:
    return {(stage, f"{dataset}/{model}") for dataset in datasets for model in models}


def test_a_model_reaches_its_own_training_predictions_and_scores_only(checkout):
    edit(checkout, "models/simvpv2.py")
    assert changed(checkout) == (
        everywhere("train", ["simvpv2"])
        | everywhere("predict", ["simvpv2"])
        | everywhere("score", ["simvpv2"])
    )


def test_a_metric_reaches_the_scores_that_use_it_and_no_training(checkout):
    edit(checkout, "metrics/ssim.py")
    assert changed(checkout) == everywhere("score", datasets=["moving_mnist", "kth"])
    shutil.copy(ROOT / "stp/metrics/ssim.py", checkout / "stp/metrics/ssim.py")
    edit(checkout, "metrics/nino34.py")
    assert changed(checkout) == everywhere("score", datasets=["enso"])


def test_a_reader_reaches_all_that_is_made_from_its_dataset(checkout):
    edit(checkout, "datasets/kth/reader.py")
    trained = ["climatology", "convlstm", "simvpv2"]
    assert changed(checkout) == (
        {("prepare", "kth")}
        | everywhere("train", trained, ["kth"])
        | everywhere("predict", datasets=["kth"])
        | everywhere("score", datasets=["kth"])
    )


def test_the_shell_around_the_stages_reaches_nothing(checkout):
    for module in (
        *("run/runner.py", "cli.py", "run/progress.py", "core/store.py"),
        *("plan/config.py", "plan/cells.py"),
    ):
        edit(checkout, module)
    assert changed(checkout) == set()


# What planning costs: counted in calls, which do not depend on the machine


def calls_and_artefacts(seeds: int) -> tuple[int, int]:
    """Calls of Python functions that a plan takes, with all questions that Snakemake asks."""
    loaded = config.load(demo(seeds=list(range(seeds))))
    profile = cProfile.Profile()
    with profile:
        plan = Plan(loaded)
        for artefact in plan.artefacts.values():
            plan.inputs(plan.find(f"{plan.store}/{artefact.receipt}"))
    return sum(entry.callcount for entry in profile.getstats()), len(plan.artefacts)


def test_the_work_of_planning_an_artefact_does_not_grow_with_their_number():
    calls_and_artefacts(1)  # imports
    calls, artefacts = zip(*(calls_and_artefacts(seeds) for seeds in (1, 11, 41)), strict=True)
    # From 1 to 11 seeds and from 11 to 41: the same for each artefact more, and not much.
    each = [
        (calls[i + 1] - calls[i]) / (artefacts[i + 1] - artefacts[i]) for i in range(2)
    ]  # fmt: skip
    assert artefacts[2] > 700
    assert each[1] < 1.05 * each[0]
    assert each[1] < 200


def strict(**case):
    """The demo with another training split of KTH, and one cell that uses it."""
    cell = {"trained_on": "kth", **case}
    return demo(
        dimensions={"short_term": {"models": ["convlstm"], "datasets": ["kth"], "cells": [cell]}},
        datasets={
            "kth": {
                "train_subsets": {"strict": {"title": "other persons"}},
                "subsets": {"strict": {"title": "other persons"}},
            }
        },
    )


def test_a_model_can_be_trained_on_a_subset_of_its_own():
    plan = Plan.load(strict(train_subset="strict", subset="strict"))
    all_clips, some = plan.cells
    assert (some.cell.train_subset, some.cell.subset) == ("strict", "strict")
    assert some.data == all_clips.data  # one store holds both
    assert some.models != all_clips.models
    assert some.models[0].recipe == {**all_clips.models[0].recipe, "train_subset": "strict"}
    assert "train_subset" not in all_clips.models[0].recipe


def test_a_training_subset_must_be_declared():
    with pytest.raises(StpError, match=r"kth .*'strickt'") as error:
        Plan.load(strict(train_subset="strickt"))
    assert "strict" in str(error.value)


def test_datasets_are_prepared_though_no_cell_needs_them():
    plan = Plan.load(demo(prepared=["sevir", "kth"]))
    names = [data.dataset for data in plan.prepared_data]
    assert sorted(names) == ["enso", "kth", "moving_mnist", "sevir"]
    assert all(data.folder in plan.artefacts for data in plan.prepared_data)
    with pytest.raises(StpError, match="'seviir'"):
        Plan.load(demo(prepared=["seviir"]))


def described(artefact: Artefact) -> list[object]:
    """All that an artefact is made of, but code."""
    read = {
        name: value.release if isinstance(value, Raw) else value.folder.rpartition("/")[0]
        for name, value in artefact.inputs.items()
    }
    folder = artefact.folder.rpartition("/")[0]
    rest = (artefact.core, artefact.kind.name, artefact.dataset, artefact.dimension)
    return [artefact.rule, folder, artefact.label, artefact.recipe, read, artefact.entries, *rest]


@pytest.mark.parametrize("scale", HELD)
def test_recipes_and_inputs_of_the_shipped_scales_are_held(
    scale: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another recipe makes results anew that take months to compute."""
    monkeypatch.setenv("STP_WEIGHTS_DIR", str(tmp_path))
    found: dict[str, list[object]] = {}
    for artefact in Plan.load(ROOT / "config" / f"{scale}.yaml").artefacts.values():
        found.setdefault(artefact.stage, []).append(described(artefact))
    assert {stage: digest(recipes) for stage, recipes in found.items()} == HELD[scale]
