"""What jobs ask for: by expected cost, site and earlier attempts."""

import copy
import json
from pathlib import Path

import pytest

from stp.plan.cells import Plan
from stp.run.cluster import attempts
from stp.run.cluster.resources import JobResources
from stp.run.cluster.site import Site

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def paper(tmp_path_factory) -> Plan:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_STORE_DIR", str(tmp_path_factory.mktemp("store")))
        return Plan.load(ROOT / "config" / "paper.yaml")


@pytest.fixture
def plan(paper, tmp_path) -> Plan:
    """The paper's plan, with an empty store."""
    plan = copy.copy(paper)
    plan.store = tmp_path / "store"
    return plan


def find(plan: Plan, stage: str, model: str = "", dataset: str = "kth"):
    return next(
        artefact for artefact in plan.artefacts.values()
        if artefact.stage == stage and artefact.dataset == dataset
        and artefact.work == f"{stage} {model}".rstrip()
    )  # fmt: skip


def asked(plan: Plan, artefact, attempt: int = 1, **site) -> dict:
    return JobResources(plan, Site.model_validate(site)).of(artefact.receipt, attempt)


def test_only_networks_ask_for_a_gpu(plan):
    requests = JobResources(plan, Site())
    for artefact in plan.artefacts.values():
        # Forecasts are made by prediction, or by scores that are computed meanwhile.
        recipe = artefact.recipe if artefact.stage == "train" else artefact.forecast
        network = recipe is not None and plan.config.models[recipe["model"]].fit == "sgd"
        assert bool(requests.of(artefact.receipt)["gpu"]) is network, artefact.label


def test_a_gpu_is_asked_for_in_the_words_of_the_site(plan):
    training = find(plan, "train", "convlstm")
    plain = asked(plan, training)
    assert (plain["gpu"], plain["gres"], plain.get("gpu_model")) == (1, "", None)
    typed = asked(plan, training, gpu={"type": "a100"})
    assert (typed["gpu"], typed["gpu_model"]) == (1, "a100")
    gres = asked(plan, training, gpu={"request": "gres", "type": "a100"})
    assert (gres["gpu"], gres["gres"]) == (0, "gpu:a100:1")


def test_jobs_go_to_the_nodes_of_their_kind(plan):
    site = {
        "cpu": {"partition": "compute", "account": "c1"},
        "gpu": {"partition": "accel", "constraint": "hbm80g", "qos": "long"},
    }
    training = asked(plan, find(plan, "train", "convlstm"), **site)
    assert (training["slurm_partition"], training["constraint"]) == ("accel", "hbm80g")
    assert training["qos"] == "long" and "slurm_account" not in training
    scores = asked(plan, find(plan, "score", "convlstm"), **site)
    assert (scores["slurm_partition"], scores["slurm_account"]) == ("compute", "c1")
    assert "constraint" not in scores


def test_time_is_capped_because_trainings_requeue_themselves(plan):
    training = find(plan, "train", "convlstm", "weatherbench")
    assert asked(plan, training, gpu={"max_hours": 2})["runtime"] == 120
    assert asked(plan, training, gpu={"max_hours": 10000})["runtime"] > 120
    assert "--signal=URG@60" in asked(plan, training, warning_seconds=60)["slurm_extra"]


def ended(plan: Plan, artefact, *hows: str) -> None:
    """Let an artefact have been attempted, with these ends."""
    state = plan.store / "state" / artefact.folder
    state.mkdir(parents=True)
    lines = []
    for number, how in enumerate(hows, 1):
        start = {"event": "start", "time": 1.0, "slurm_job": None, "memory_mb": None}
        end = {"event": "end", "time": 2.0, "how": how, "detail": ""}
        lines += [json.dumps({"attempt": number, **line}) for line in (start, end)]
    (state / attempts.FILE).write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("ends", "memory", "time"),
    [
        (["failed", "killed", "requeued", "saved"], 1, 1),
        (["out of memory"], 2, 1),
        (["out of memory", "requeued", "out of memory"], 4, 1),
        (["time limit", "requeued"], 1, 2),
    ],
)
def test_memory_grows_after_out_of_memory_only_and_time_after_time_limits(plan, ends, memory, time):
    scores = find(plan, "score", "persistence")
    before = asked(plan, scores)
    ended(plan, scores, *ends)
    after = asked(plan, scores, attempt=len(ends) + 1)
    assert after["mem_mb"] == memory * before["mem_mb"]
    # both are rounded up to 5 minutes
    assert time * (before["runtime"] - 5) < after["runtime"] <= time * before["runtime"]


def test_memory_never_grows_beyond_a_node(plan):
    scores = find(plan, "score", "persistence")
    ended(plan, scores, *["out of memory"] * 9)
    assert asked(plan, scores, attempt=10, cpu={"max_memory_gb": 64})["mem_mb"] == 64000


def test_a_site_may_know_better_what_a_stage_needs(plan):
    training = find(plan, "train", "convlstm")
    assert asked(plan, training, memory_mb={"train": 50000})["mem_mb"] == 50000
    assert asked(plan, training, memory_mb={"train": 5}, min_memory_mb=1500)["mem_mb"] == 1500


def finish(plan: Plan, *artefacts) -> None:
    """Let artefacts be there, as far as planning can see."""
    for artefact in artefacts:
        receipt = plan.store / artefact.receipt
        receipt.parent.mkdir(parents=True)
        receipt.touch()


def groups(plan: Plan, model: str, **site) -> tuple[str | None, str | None]:
    requests = JobResources(plan, Site.model_validate({"group_minutes": 1e6, **site}))
    return (
        requests.group(find(plan, "predict", model).receipt),
        requests.group(find(plan, "score", model).receipt),
    )


def test_short_jobs_that_wait_for_nothing_are_submitted_together(plan):
    assert groups(plan, "persistence") == (None, None), "the dataset is not there yet"
    finish(plan, find(plan, "prepare"))
    assert groups(plan, "persistence") == ("small-kth", "small-kth")
    assert groups(plan, "persistence", group_minutes=0) == (None, None)
    # one training that fails must not hold up the scores of the others
    assert groups(plan, "convlstm") == (None, None)
    # what needs a GPU goes alone; its scores are small once it is done
    finish(plan, find(plan, "train", "convlstm"), find(plan, "predict", "convlstm"))
    assert groups(plan, "convlstm") == (None, "small-kth")


def test_what_was_tried_before_is_not_grouped_again(plan):
    finish(plan, find(plan, "prepare"))
    ended(plan, find(plan, "score", "persistence"), "failed")
    assert groups(plan, "persistence") == ("small-kth", None)


def test_a_large_training_takes_whole_nodes(tmp_path, monkeypatch):
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path))
    scale = (ROOT / "config" / "paper.yaml").read_text().replace("gpus: 1", "gpus: 16")
    (tmp_path / "big.yaml").write_text(scale)
    plan = Plan.load(tmp_path / "big.yaml")
    training = find(plan, "train", "convlstm")
    assert plan.ranks(training) == 16
    request = asked(plan, training, gpu={"per_node": 4})
    assert (request["gpu"], request["nodes"]) == (16, 4)
    # 8 threads for each of the 4 processes of a node
    assert request["threads"] == 8 * 4
    assert asked(plan, find(plan, "predict", "convlstm"), gpu={"per_node": 4})["gpu"] == 1
