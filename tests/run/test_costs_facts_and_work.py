"""The work and the cost of whole plans, by stage: sums over all jobs are held numbers."""

from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from stp.plan.artefacts import Raw
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.run.costs import facts, work
from stp.run.costs.estimate import Cost, Costs

WORK = ("amount", "bytes", "reading_mb", "scored_mvalues")
WORK += ("batch_mb", "weights_mb", "activations_mb")
COST = ("seconds", "memory_mb", "gpu_mb", "files", "gpus", "threads", "computing_s", "reading_s")
HELD = yaml.safe_load(Path(__file__).with_name("held_costs.yaml").read_text())


def sums(plan: Plan) -> dict[str, list[float]]:
    costs = Costs(plan)
    jobs: list[tuple[str, work.Work, Cost]] = [
        (artefact.stage, costs.workload.of(artefact), costs.of(artefact))
        for artefact in plan.artefacts.values()
    ]
    read = [raw for artefact in plan.artefacts.values() for raw in artefact.inputs.values()]
    raws = {raw.lock: raw for raw in read if isinstance(raw, Raw)}.values()
    jobs += [("fetch", costs.workload.of_raw(raw), costs.of_raw(raw)) for raw in raws]
    jobs.append(("table", work.Work("any", 0), costs.of_table()))
    found: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(WORK + COST))
    for stage, job, cost in jobs:
        values = [getattr(job, name) for name in WORK] + [getattr(cost, name) for name in COST]
        key = f"{stage} {job.rate}"
        found[key] = [a + (b or 0) for a, b in zip(found[key], values, strict=True)]
    return found


@pytest.mark.parametrize("scale", HELD)
def test_costs_of_a_plan_are_held(
    scale: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STP_STORE_DIR", "STP_RAW_DIR"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp("empty")))
    found = sums(Plan.load(CONFIG_FOLDER / f"{scale}.yaml"))
    assert found == {key: pytest.approx(held, rel=1e-6) for key, held in HELD[scale].items()}


def test_a_frame_of_video_has_bytes_and_another_one_float32() -> None:
    stored = Plan.load(CONFIG_FOLDER / "paper.yaml").config.datasets
    assert facts.stored_frame_mb(stored["kth"]) == 128 * 128 / 1e6
    assert facts.stored_frame_mb(stored["enso"]) == 4 * 24 * 48 / 1e6
