"""What verbs print fits a terminal of 80 characters."""

import io
import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from stp.page.text_table import styled_table
from stp.plan import config
from stp.plan.cells import Plan
from stp.profiling.page import columns
from stp.run.cluster import driver
from stp.run.cluster.driver import Driver
from stp.run.costs import summary
from stp.run.costs.table import WIDE, listing
from stp.run.status import artefact_states
from stp.run.status_text import lines

ROOT = Path(__file__).parents[2]
RUN = Driver("vm", "boot", 1, 2, None, 0.0, [], {}, "config.json")


def shown(renderable, width):
    file = io.StringIO()
    Console(file=file, width=width).print(renderable, crop=False)
    return file.getvalue().splitlines()


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STP_STORE_DIR", str(tmp_path_factory.mktemp("store")))
        return Plan(config.load(ROOT / "tests" / "workflow" / "tiny.yaml"))


def test_all_models_fit(plan):
    text = shown(styled_table(columns(plan.config), 80), 80)
    assert max(map(len, text)) <= 80
    assert any(line.startswith("linear_extrapolation") for line in text)


def test_a_trained_model_of_ones_own_is_no_reference_line(plan):
    mine = plan.config.models["convlstm"].model_copy(update={"title": "Mine"})
    own = plan.config.model_copy(update={"models": {**plan.config.models, "mine": mine}})
    _, _, kinds, _ = columns(own)
    assert kinds.cells[-1].plain == "trained network; gradient descent"
    assert "baseline; nothing to learn" in [cell.plain for cell in kinds.cells]


def test_a_list_of_jobs_cuts_no_name(plan):
    found = summary.entries(plan)
    narrow = shown(listing(found, 80), 80)
    assert max(map(len, narrow)) <= 80
    text = "".join(line[:40].strip() for line in narrow)
    assert "…" not in text and "persistenceonmoving_mnist" in text.replace(" ", "")
    wide = "\n".join(shown(listing(found, WIDE), WIDE))
    assert plan.cells[0].scores.fingerprint in wide


def test_status_after_success_speaks_of_no_crash(plan):
    states = artefact_states(plan)
    ended = "\n".join(lines(plan, states, RUN, 80))
    assert "`stp run --resume`" in ended or "unknown" in ended
    done = replace(RUN, succeeded=True)
    text = "\n".join(lines(plan, states, done, 80))
    assert "finished" in text and "crash" not in text
    assert all(len(line) <= 80 for line in text.splitlines() if "run:" not in line)


def test_a_run_that_ends_before_its_targets_has_stopped(plan):
    """As after Ctrl-C: the Snakemake that asks how it stands is about to end."""
    snakemake = os.getppid()
    ending = replace(
        RUN,
        host=socket.gethostname(),
        boot=driver._boot(),
        pid=snakemake,
        ticks=driver._ticks(snakemake),
    )
    (said,) = [line for line in lines(plan, artefact_states(plan), ending, 80) if "run:" in line]
    assert "stopped" in said and "running" not in said
    another = replace(ending, pid=os.getpid(), ticks=driver._ticks(os.getpid()))
    (said,) = [line for line in lines(plan, artefact_states(plan), another, 80) if "run:" in line]
    assert said.endswith("running")


def test_success_is_noted_until_the_next_run(tmp_path):
    driver.record_success(tmp_path)
    assert driver.read_driver(tmp_path) is None
    (tmp_path / driver.FILE).write_text(json.dumps(vars(RUN)))
    assert not driver.read_driver(tmp_path).succeeded
    driver.record_success(tmp_path)
    assert driver.read_driver(tmp_path) == replace(RUN, succeeded=True)
