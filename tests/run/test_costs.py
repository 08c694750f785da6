"""What jobs are expected to cost: from facts, from the scale file, and from earlier jobs."""

import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.models.create import create
from stp.plan import config
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, merge, read_yaml
from stp.profiling.steps import measure_plan
from stp.run import runner
from stp.run.costs.brief import wall_seconds
from stp.run.costs.durations import Durations
from stp.run.costs.estimate import Cost, Costs
from stp.run.costs.facts import Facts
from stp.run.costs.steps import Steps, unmeasured_trainings
from stp.run.costs.summary import Entry, assumptions, by_dimension, entries, hours, lines
from stp.run.costs.work import forecast_gmacs
from stp.run.progress import Progress

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "config" / "paper.yaml"
DEMO = ROOT / "config" / "demo.yaml"
TINY = ROOT / "tests" / "workflow" / "tiny.yaml"
PAIR = ("convlstm", "moving_mnist")


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))


@pytest.fixture(scope="module")
def paper(tmp_path_factory) -> Plan:
    """The paper's plan, with an empty store."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_STORE_DIR", str(tmp_path_factory.mktemp("paper")))
        return Plan.load(PAPER)


@pytest.fixture(scope="module")
def paper_costs(paper) -> Costs:
    return Costs(paper)


def scale(**changes) -> Plan:
    return Plan(config.load(merge(read_yaml(TINY), changes)))


def training(**changes) -> tuple[Plan, Artefact]:
    """The training of SimVPv2 on Moving-MNIST at the paper's scale, without the other cells."""
    short_term = {"models": ["simvpv2"], "datasets": ["moving_mnist"]}
    content = {**read_yaml(PAPER), "dimensions": {"short_term": short_term}}
    plan = Plan(config.load(merge(content, changes)))
    return plan, artefact(plan, "train", "simvpv2", "moving_mnist")


def artefact(plan: Plan, stage: str, model: str, dataset: str) -> Artefact:
    """The artefact of a cell."""
    made = next(m for m in plan.cells if (m.cell.model, m.cell.tested_on) == (model, dataset))
    return next(one for one in made.artefacts if one.stage == stage)


# How much work


def test_training_is_three_forecasts_a_clip_and_validation_is_one(paper, paper_costs):
    work = paper_costs.workload.of(artefact(paper, "train", "convlstm", "moving_mnist"))
    # 58.8 G multiply-adds (Table 19), 200 epochs, 10,000 clips for training and validation
    assert work.amount == pytest.approx(58.8 * 200 * (3 * 10_000 + 10_000))


def test_a_diffusion_model_trains_on_one_evaluation_and_predicts_with_251(paper, paper_costs):
    workload = paper_costs.workload
    work = workload.of(artefact(paper, "train", "mcvd", "moving_mnist"))
    # 500,000 steps of 64 clips, 3,200 epochs of 10,000 clips, after every 64th 10,000 to validate
    assert work.amount == pytest.approx(29.15 * (3 * 500_000 * 64 + 50 * 10_000))
    work = workload.of(artefact(paper, "predict", "mcvd", "moving_mnist"))
    # what depends on the context alone is computed once for each of 10,000 forecasts
    assert work.amount == pytest.approx((19.3 + (29.15 - 19.3) * 251) * 10_000)


def long_term(samples: int = 1, **case) -> tuple[Plan, list[Artefact]]:
    """A network's predictions and scores of WeatherBench for five days, in the paper's scale."""
    case = {
        "trained_on": "weatherbench",
        "subset": "extrapolation",
        "setting": {"horizon": 20},
    } | case
    wanted = {"long_term": {"models": ["mcvd"], "datasets": [], "cells": [case]}}
    paper = {**read_yaml(PAPER), "dimensions": wanted}
    plan = Plan(config.load(paper | {"models": {"mcvd": {"predict": {"samples": samples}}}}))
    (made,) = plan.cells
    return plan, [a for a in (made.predictions, made.scores) if a is not None]


def test_forecasts_that_are_not_stored_cost_their_time_and_the_space_of_those_kept():
    plan, (predicted, scored) = long_term()
    costs = [Costs(plan).of(artefact) for artefact in (predicted, scored)]
    assert costs[0].bytes == 5752 * 20 * 69 * 128 * 256 * 4  # 1.04 TB
    kept_plan, (rolled,) = long_term(keep=64)
    work = Costs(kept_plan).workload.of(rolled)
    assert (work.rate, work.amount) == ("gpu_gmacs", Costs(plan).workload.of(predicted).amount)
    cost = Costs(kept_plan).of(rolled)
    assert (cost.gpus, cost.threads) == (1, 8)
    assert cost.bytes == costs[1].bytes + 64 * 20 * 69 * 128 * 256 * 4
    assert max(costs[0].seconds, costs[1].seconds / 8) <= cost.seconds < costs[0].seconds + 60
    assert cost.memory_mb > max(costs[0].memory_mb, costs[1].memory_mb)
    assert cost.files > costs[1].files


def test_several_samples_cost_as_many_forecasts():
    plans = [long_term(samples) for samples in (1, 10)]
    one, ten = ([Costs(plan).workload.of(a) for a in made] for plan, made in plans)
    assert ten[0].amount == pytest.approx(10 * one[0].amount)
    assert ten[0].bytes == 10 * one[0].bytes
    more = 14 / 11  # conventions: CRPS, spread, and its ratio to the error
    assert ten[1].amount == pytest.approx(10 * one[1].amount * more, rel=0.03)


def test_the_scale_file_changes_the_number_of_clips():
    few = {"clips_per_epoch": 30, "clips": {"val": 5, "test": 7}}
    plan = scale(datasets={"moving_mnist": {"prepare": few}}, train={"epochs": 2})
    work = Costs(plan).workload.of(artefact(plan, "train", "convlstm", "moving_mnist"))
    assert work.amount == pytest.approx(0.03 * 2 * (3 * 30 + 5))  # 0.03 G: tiny.yaml
    plan = scale(train={"epochs": 2, "max_clips": 8, "max_val_clips": 3})
    work = Costs(plan).workload.of(artefact(plan, "train", "convlstm", "moving_mnist"))
    assert work.amount == pytest.approx(0.03 * 2 * (3 * 8 + 3))
    plan = scale(datasets={"enso": {"counts": {"test": 1000}}})
    predicted = Costs(plan).of(artefact(plan, "predict", "persistence", "enso"))
    assert predicted.bytes == 1000 * 14 * 24 * 48 * 4  # lead times, height, width, float32


def counted(recipe: dict) -> tuple[float, int]:
    """10^9 multiply-adds of a forecast as torch counts them, and the number of parameters."""
    with torch.device("meta"):
        model = create(recipe).eval()
        frames = torch.zeros(1, recipe["context"], *recipe["shape"])
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            model(frames, recipe["horizon"])
    parameters = sum(weights.numel() for weights in model.parameters())
    return counter.get_total_flops() / 2e9, parameters


@pytest.mark.parametrize(
    ("model", "dataset"),
    [
        *[("convlstm", "taxibj"), ("simvpv2", "kth"), ("simvpv2", "bair")],
        *(
            pytest.param(model, dataset, marks=pytest.mark.long(part="kinds"))
            for model, *datasets in (
                ("convlstm", "moving_mnist", "kth", "bair", "traffic4cast"),
                ("simvpv2", "moving_mnist", "taxibj", "traffic4cast"),
            )
            for dataset in datasets
        ),
    ],
)
def test_work_on_other_datasets_is_converted_from_that_on_moving_mnist(
    paper, paper_costs, model, dataset
):
    """Frames of other sizes, colours, and numbers; 2 -> 10 takes a SimVP five passes."""
    recipe = artefact(paper, "train", model, dataset).recipe
    known = paper_costs.workload.facts.size(model, dataset).value
    assert forecast_gmacs(known, recipe, recipe["horizon"]) == pytest.approx(
        counted(recipe)[0], rel=0.08
    )


@pytest.mark.parametrize("path", [DEMO, TINY, ROOT / "config" / "sample.yaml"])
def test_the_sizes_in_scale_files_are_those_of_their_networks(path):
    plan = Plan.load(path)
    facts = Costs(plan).workload.facts
    for model in ("convlstm", "simvpv2"):
        recipe = artefact(plan, "train", model, "moving_mnist").recipe
        recipe = {**recipe, "shape": [1, 64, 64]}  # what sizes are of, whatever the scale's frames
        known = facts.size(model, "moving_mnist").value
        gmacs, parameters = counted(recipe)
        assert known.parameters == parameters
        assert known.gmacs == pytest.approx(gmacs, rel=0.12)  # written with one or two digits


def check_counts(plan: Plan, dataset: str) -> None:
    """Prepare a dataset, and compare it with what the scale file says of it."""
    runner.fetch(plan, plan.raw(dataset))
    folder = runner.make(plan, plan.data(dataset))
    receipt = json.loads((folder / "artefact.json").read_text())
    counts = plan.config.datasets[dataset].counts
    assert receipt["extras"]["clips"] == {s: getattr(counts, s) for s in ("train", "val", "test")}
    shape = json.loads((folder / "frames.zarr" / "frames" / "zarr.json").read_text())["shape"]
    assert counts.frames == shape[0]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) <= Costs(plan).of(plan.data(dataset)).files


@pytest.mark.long(part="kinds")
def test_the_counts_in_scale_files_are_those_of_the_prepared_data():
    check_counts(Plan.load(TINY), "enso")


@pytest.mark.sample_bytes
@pytest.mark.parametrize("dataset", ["kth", "enso"])
def test_the_counts_of_the_sample_scale_are_those_of_its_bytes(dataset, raw_mirror):
    check_counts(Plan.load(ROOT / "config" / "sample.yaml"), dataset)


@pytest.mark.slow
@pytest.mark.long(part="demo")
@pytest.mark.parametrize("dataset", ["kth", "enso"])
def test_the_counts_of_the_demo_are_those_of_its_data(dataset):
    check_counts(Plan.load(DEMO), dataset)


def test_what_nobody_knows_is_assumed_and_said():
    counts = {"train": None, "val": None, "test": None}
    size = {"gmacs": None}
    plan = scale(datasets={"enso": {"counts": counts}}, models={"convlstm": {"size": size}})
    basis = Costs(plan).of(artefact(plan, "train", "convlstm", "enso")).basis
    assert "10,000" in basis and "30 G" in basis


# Time, processors, memory


def test_time_is_work_over_the_speed_of_the_network(paper, paper_costs):
    costs = paper_costs
    cost = costs.of(artefact(paper, "train", "simvpv2", "moving_mnist"))
    start = costs.constants.start_s.train + costs.constants.start_s.gpu
    # 16.53 G x 435.3 forecasts per second (Table 19): 8 million forecasts' worth
    assert cost.seconds == pytest.approx(start + 8e6 / 435.3, rel=1e-3)
    four, trained = training(runtime={"gpus": 4})
    shared = Costs(four).of(trained)
    assert shared.seconds == pytest.approx(start + 8e6 / 435.3 / 4, rel=1e-3)
    assert shared.gpus == 4


def test_networks_that_are_faster_than_the_disk_wait_for_it(paper, paper_costs):
    # 69 x 128 x 256 float32 values a frame, and little to compute
    cost = paper_costs.of(artefact(paper, "train", "tau", "weatherbench"))
    assert cost.reading_s > cost.computing_s


@pytest.mark.parametrize("name", ["paper", "chaosbench", "scv"])
def test_published_scales_train_all_networks_on_gpus(name):
    """A training of 300,000 updates asked for none in scv.yaml, and would have taken months."""
    plan = Plan.load(CONFIG_FOLDER / f"{name}.yaml")
    networks = [made for made in plan.artefacts.values() if made.recipe.get("fit") == "sgd"]
    assert networks and all(plan.gpus(made) == 1 for made in networks)


def test_only_networks_hold_gpus(paper, paper_costs):
    for stage, model, gpus in (
        *(("train", "convlstm", 1), ("predict", "convlstm", 1), ("score", "convlstm", 0)),
        *(("train", "climatology", 0), ("predict", "persistence", 0)),
    ):
        assert paper_costs.of(artefact(paper, stage, model, "kth")).gpus == gpus, (stage, model)
    assert paper_costs.of(paper.data("kth")).gpus == 0
    assert paper_costs.of_raw(paper.raw("kth")).gpus == 0
    tiny = Plan.load(TINY)
    assert Costs(tiny).of(artefact(tiny, "train", "convlstm", "enso")).gpus == 0


def test_threads_are_those_of_the_recipe():
    plan = scale(train={"threads": 3}, predict={"threads": 2}, runtime={"ranks": 4})
    costs = Costs(plan)
    trained = artefact(plan, "train", "convlstm", "enso")
    assert (costs.of(trained).threads, costs.processors(trained)) == (3, 12)
    assert costs.of(artefact(plan, "predict", "convlstm", "enso")).threads == 2
    assert costs.of(artefact(plan, "score", "convlstm", "enso")).threads == 1


def test_memory_is_rounded_and_never_too_small():
    plan = Plan.load(TINY)
    costs = Costs(plan)
    for one in plan.artefacts.values():
        assert costs.of(one).memory_mb >= 1000
        assert costs.of(one).memory_mb % 100 == 0
    assert costs.of_raw(plan.raw("enso")).memory_mb == 1000


def test_a_training_without_a_gpu_needs_memory_for_the_backward_pass():
    def memory(**changes) -> int:
        plan, trained = training(**changes)
        return Costs(plan).of(trained).memory_mb

    # 293 MB of activations for each of 16 clips; with a GPU they are in its memory
    assert memory(runtime={"gpus": 0}) - memory() > 16 * 293 - 3000
    assert memory(runtime={"gpus": 0}) > 16 * 293
    # each process of two has half of the batch, but a Python of its own
    both = memory(runtime={"gpus": 0, "ranks": 2})
    assert memory(runtime={"gpus": 0}) + 1000 < both < 2 * memory(runtime={"gpus": 0})


def test_memory_of_a_gpu_is_that_of_weights_and_activations():
    def cost(**runtime) -> Cost:
        plan, trained = training(runtime=runtime)
        return Costs(plan).of(trained)

    # four times 46,769,665 weights of float32, and 293 MB for each of 16 clips
    weights = 4 * 46_769_665 * 4 / 1e6
    assert cost().gpu_mb == round(weights + 16 * 293)
    assert cost(micro_batch=4).gpu_mb == round(weights + 4 * 293)
    assert cost(gpus=2).gpu_mb == round(weights + 8 * 293)
    assert cost(gpus=0).gpu_mb is None


def test_activations_of_another_width_are_not_those_of_the_published_one():
    plan, trained = training(models={"simvpv2": {"size": {"gmacs": 1.0}}})
    work = Costs(plan).workload.of(trained)
    assert not work.is_counted and work.activations_mb < 16 * 293


def test_seeds_cost_alike_and_are_computed_once():
    plan = scale(seeds=[0, 1])
    costs = Costs(plan)
    made = [m for m in plan.cells if m.cell.model == "convlstm" and m.cell.tested_on == "enso"]
    assert costs.of(made[0].predictions) is costs.of(made[1].predictions)
    assert costs.of(made[0].predictions) is not costs.of(made[0].scores)


# What this store has measured


def measured(plan: Plan, *rows: str) -> Costs:
    path = plan.store / "state" / "durations.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n")
    return Costs(plan)


def row(**values) -> str:
    return json.dumps({"kind": "train convlstm", "started": 0.0, "gpus": 0, "threads": 1, **values})


def test_what_was_measured_here_wins():
    plan = Plan.load(TINY)
    one = artefact(plan, "train", "convlstm", "enso")
    plain = Costs(plan)
    work, start = plain.workload.of(one).amount, plain.constants.start_s.train
    costs = measured(plan, row(seconds=100, work=200.0), row(seconds=100, work=400.0), '{"kin')
    # the median of 2 and 4 units of work per second; the torn line does not matter
    assert costs.of(one).seconds == pytest.approx(start + work / 3)
    assert "2 job(s)" in costs.of(one).basis


@pytest.mark.parametrize(
    "other",
    [
        {"seconds": 59, "work": 200.0},  # says more about starting
        {"seconds": 100},  # written before there was a figure for work, or resumed
        {"seconds": 100, "work": 200.0, "gpus": 1},
        {"seconds": 100, "work": 200.0, "threads": 8},
        {"seconds": 100, "work": 200.0, "kind": "train simvpv2"},
    ],
)
def test_work_of_another_kind_says_nothing(other):
    plan = Plan.load(TINY)
    one = artefact(plan, "train", "convlstm", "enso")
    assert measured(plan, row(**other)).of(one) == Costs(Plan.load(TINY)).of(one)


def finished(plan: Plan, one: Artefact, receipt: dict) -> dict:
    """The line that is remembered when work ends."""
    folder = plan.store / one.folder
    folder.mkdir(parents=True)
    (folder / "artefact.json").write_text(
        json.dumps({"fingerprint": folder.name, "files": {}, **receipt})
    )
    Progress(one.stage, one.label, plan, None, one).finish()
    return Durations(plan.store / "state" / "durations.jsonl").rows()[-1]


def test_finished_work_is_remembered_with_its_amount(capsys):
    plan = Plan.load(TINY)
    one = artefact(plan, "train", "convlstm", "enso")
    durations = Durations(plan.store / "state" / "durations.jsonl")
    for stage in ("prepare", "predict", "score"):
        durations.add(stage, time.time(), 60.0)
    line = finished(plan, one, {"extras": {"device": "cpu"}, "attempts": [{"attempt": 1}]})
    assert line["kind"] == "train convlstm"
    assert line["work"] == Costs(plan).workload.of(one).amount
    assert (line["gpus"], line["threads"]) == (0, 1)
    assert " left " in capsys.readouterr().err


def test_measured_steps_are_what_estimates_rest_on():
    """Of a model whose size nobody knows; jobs that took longer than a minute say more."""
    small = {"short_term": {"models": ["persistence", "convlstm"], "datasets": ["moving_mnist"]}}
    plan = scale(dimensions=small)
    before = {stage: Costs(plan).of(artefact(plan, stage, "convlstm", "moving_mnist"))
              for stage in ("train", "predict")}  # fmt: skip
    (said,) = measure_plan(plan, None, seconds=0.01)
    assert re.search(r"convlstm on moving_mnist: [\d.]+ ms for a clip in training", said)
    assert list(unmeasured_trainings(plan)) == []

    costs = Costs(plan)
    for stage, units in (("train", "train_s"), ("predict", "forecast_s")):
        made = artefact(plan, stage, "convlstm", "moving_mnist")
        cost, work = costs.of(made), costs.workload.of(made)
        step = Steps(plan).of(made)
        own = work.trained + work.forecasts
        expected = own * getattr(step, units) + work.validated * step.validate_s
        start = getattr(costs.constants.start_s, stage)
        assert cost.seconds == pytest.approx(start + expected)
        assert cost.seconds != before[stage].seconds
        assert "convlstm on moving_mnist" in cost.basis and own > 0
    wider = scale(dimensions=small, models={"convlstm": {"options": {"num_hidden": [6]}}})
    (training,) = unmeasured_trainings(wider)
    assert training.recipe["options"]["num_hidden"] == [6], "another network"
    rate = {"work": 1000.0, "gpus": 0, "threads": 1}
    Durations(plan.store / "state" / "durations.jsonl").add("train convlstm", 0.0, 100.0, **rate)
    assert "1 job(s)" in Costs(plan).of(artefact(plan, "train", *PAIR)).basis


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU would be measured")
def test_a_network_that_needs_another_machine_is_not_measured():
    wanted = {"short_term": {"models": ["convlstm", "simvpv2"], "datasets": ["moving_mnist"]}}
    plan = scale(dimensions=wanted, runtime={"gpus": 1})
    said = list(measure_plan(plan, None, seconds=0.01))
    assert len(said) == 2 and all("not measured: " in line and "GPU" in line for line in said)
    assert len(list(unmeasured_trainings(plan))) == 2


def test_a_training_that_found_no_gpu_does_not_count_as_one_with_a_gpu():
    plan = scale(runtime={"device": "auto", "gpus": 1})
    one = artefact(plan, "train", "convlstm", "enso")
    assert finished(plan, one, {"extras": {"device": "cpu"}})["gpus"] == 0
    one = artefact(plan, "train", "convlstm", "moving_mnist")
    assert finished(plan, one, {"extras": {"device": "NVIDIA H200"}})["gpus"] == 1


def test_a_resumed_training_says_nothing_about_speed():
    plan = Plan.load(TINY)
    one = artefact(plan, "train", "convlstm", "enso")
    attempts = [{"attempt": 1, "how": "killed"}, {"attempt": 2, "how": "done"}]
    assert "work" not in finished(plan, one, {"attempts": attempts})


# Facts are not recipes


def test_facts_for_estimates_reach_no_artefact():
    plan = scale(
        datasets={"enso": {"counts": {"train": 7}, "releases": {"synthetic": {"raw_gb": 3.5}}}},
        models={"convlstm": {"size": {"gmacs": 1e6, "parameters": 1, "steps": "pass"}}},
    )
    assert list(plan.artefacts) == list(Plan.load(TINY).artefacts)
    assert plan.raw("enso") == Plan.load(TINY).raw("enso")


def test_every_dataset_and_every_network_has_its_facts():
    loaded = config.load(PAPER)
    frames = {name: one for name, one in loaded.datasets.items() if one.kind == "frames"}
    for name, dataset in frames.items():
        assert dataset.counts.test, name
        assert dataset.counts.source, name
    networks = {name: one for name, one in loaded.models.items() if one.kind == "frames"}
    for name, model in networks.items():
        known = (model.size.parameters, model.size.gmacs)
        assert (None in known) == (model.fit != "sgd"), name


def test_estimates_need_no_torch():
    code = (
        "import sys; from pathlib import Path; from stp.plan.cells import Plan\n"
        "from stp.run.costs.summary import entries; entries(Plan.load(Path('config/paper.yaml')))\n"
        "print(sorted({'torch', 'numpy', 'zarr', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


# stp plan


def test_what_a_table_takes_is_said_in_five_lines():
    """The demo's tables share datasets' networks, and this one waits for its own jobs only."""
    answer = CliRunner().invoke(app, ["plan", "results/tables/short_term.csv"])
    assert answer.exit_code == 0, answer.output
    table, cells, jobs, _, storage = answer.stdout.splitlines()
    assert "results/tables/short_term.csv" in table and "demo" in table
    assert "15" in cells and "climatology, context_mean, convlstm" in cells and "kth, enso" in cells
    # 3 climatologies and 6 networks; persistence and context mean have nothing to fit
    counts = {"fetch": 3, "prepare": 3, "train": 9, "predict": 15, "score": 15}
    assert ", ".join(f"{stage} {count}" for stage, count in counts.items()) in jobs
    assert re.search(r"\d+\.\d MB .*store", storage)
    listed = CliRunner().invoke(app, ["plan", "short_term", "--list"])
    assert "--list" in str(listed.exception)
    wrong = CliRunner().invoke(app, ["plan", "long_time"])
    assert isinstance(wrong.exception, StpError)
    assert "long_term" in str(wrong.exception)


def test_the_time_of_a_table_is_its_work_shared_among_cores():
    def job(seconds: float, processors: int) -> Entry:
        costs = replace(cost, seconds=seconds)
        return Entry("train", "", "", False, True, costs, processors, Path())

    cost = Costs(scale()).of_table()
    # 10 + 20 + 2 x 15 = 60 seconds of cores
    jobs = [job(10, 1), job(20, 1), job(15, 2)]
    assert wall_seconds(jobs, 2) == 30
    assert wall_seconds(jobs, 100) == 20  # never shorter than the longest
    assert wall_seconds([], 2) == 0


def test_costs_add_up_by_rule():
    plan = Plan.load(TINY)
    found = entries(plan)
    summed = {line.rule: line for line in lines(found)}
    # 2 datasets x 4 models, of which 3 are fitted; one table
    assert {rule: line.jobs for rule, line in summed.items()} == {
        "fetch": 2,
        "prepare": 2,
        "train": 6,
        "predict_short_term": 8,
        "score_short_term": 8,
        "collect": 1,
        "render": 1,
        "total": 28,
    }
    costs = Costs(plan)
    training = [costs.of(a) for a in plan.artefacts.values() if a.stage == "train"]
    assert summed["train"].cpu_hours == pytest.approx(sum(c.seconds for c in training) / 3600)
    assert summed["train"].longest_s == max(c.seconds for c in training)
    assert summed["train"].bytes == sum(c.bytes for c in training)
    assert summed["total"].files == sum(entry.cost.files for entry in found)


def test_jobs_by_stage_and_dimension(paper):
    """The paper: 15 models in 14, 3, 7 and 9 cases; all share data and trained models."""
    # The long-term forecasts of WeatherBench are scored while they are made, and not stored.
    found = entries(paper)
    jobs = by_dimension(found)
    cases = {"short_term": 14, "long_term": 3, "generalization": 7, "robustness": 9}
    assert jobs["score"] == {name: 15 * number for name, number in cases.items()}
    assert jobs["predict"] == {**jobs["score"], "long_term": 15 * 2}
    assert jobs["render"] == dict.fromkeys(cases, 1)
    assert jobs["prepare"] == {"shared": 15}
    assert jobs["train"] == {"shared": 14 * 13}  # twelve networks and the climatology
    assert sum(sum(row.values()) for row in jobs.values()) == len(found)


def test_what_is_done_costs_nothing_more():
    plan = Plan.load(TINY)
    receipt = plan.store / artefact(plan, "train", "convlstm", "enso").receipt
    receipt.parent.mkdir(parents=True)
    receipt.touch()
    found = entries(plan)
    train, everything = lines(found)[2], lines(found, everything=True)[2]
    assert (train.jobs, train.done, everything.done) == (6, 1, 1)
    one = Costs(plan).of(artefact(plan, "train", "convlstm", "enso"))
    assert everything.cpu_hours - train.cpu_hours == pytest.approx(one.seconds / 3600)


def test_gpu_hours_are_those_of_networks():
    plan = scale(runtime={"device": "auto", "gpus": 2})
    costs = Costs(plan)
    networks = [
        costs.of(a)
        for a in plan.artefacts.values()
        if a.stage == "train" and a.recipe["model"] in ("convlstm", "simvpv2")
    ]
    line = {line.rule: line for line in lines(entries(plan))}["train"]
    assert line.gpu_hours == pytest.approx(2 * sum(c.seconds for c in networks) / 3600)


def test_every_assumption_is_said_once():
    unknown = {"datasets": {"human36m": {"releases": {"official": {"raw_gb": None}}}}}
    plan = Plan.load(merge(read_yaml(PAPER), unknown))
    said = assumptions(entries(plan))
    assert len(said) == len(set(said)) < 20
    assert any("human36m" in text for text in said)


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["plan", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_plan_lists_jobs_and_costs_and_marks_what_has_no_code(tmp_path, monkeypatch):
    """A model that is configured, and has no code."""
    folder = tmp_path / "config"
    shutil.copytree(CONFIG_FOLDER, folder)
    shutil.copy(folder / "models" / "convlstm.yaml", folder / "models" / "unwritten.yaml")
    monkeypatch.setattr(config, "load", partial(config.load, folder=folder))
    cells = {"models": ["convlstm", "unwritten"], "datasets": ["kth"]}
    (tmp_path / "scale.yaml").write_text(
        json.dumps(read_yaml(PAPER) | {"dimensions": {"short_term": cells}})
    )
    monkeypatch.chdir(tmp_path)
    given = ("--configfile", str(tmp_path / "scale.yaml"))
    rows = run("--list", *given).splitlines()
    for stage, model, is_marked in (
        ("train", "convlstm", False),
        ("train", "unwritten", True),
        ("score", "unwritten", True),  # nothing to score
    ):
        row = next(line for line in rows if stage in line and f"{model} on kth" in line)
        assert ("no code" in row) == is_marked
    text = run(*given)
    for part in ("predict_short_term", "total", "no code"):
        assert part in text


def test_plan_as_json_has_all_of_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = json.loads(run("--format", "json", "--configfile", str(TINY)))
    assert len(found["artefacts"]) == 28
    first = found["artefacts"][2]
    assert (first["stage"], first["what"], first["done"]) == ("prepare", "moving_mnist", False)
    assert first["receipt"].endswith("artefact.json")
    assert first["cost"]["seconds"] > 0
    assert found["to_do"][-1]["jobs"] == 28
    assert found["assumptions"]


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (0.034, "0.034"), (7.55, "7.5"), (124_084.2, "124,084")]
)
def test_hours_have_two_digits_or_all_before_the_point(number, text):
    assert hours(number) == text


def test_a_file_that_a_model_is_read_from_may_have_no_stated_size() -> None:
    """Such as a measure of quality of somebody's own: it is no dataset of the plan."""
    plan = SimpleNamespace(config=SimpleNamespace(datasets={}))
    release = SimpleNamespace(files=[SimpleNamespace(bytes=None)], raw_gb=None)
    raw = SimpleNamespace(dataset="mine-pvqa", declared=release)
    found = Facts(plan, None).raw_mb(raw)  # type: ignore[arg-type]
    assert found.value == 0 and "mine-pvqa" in found.assumed[0]
