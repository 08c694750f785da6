"""kill -9 of Snakemake in the middle of a real run, and `stp run --resume`."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest
import yaml
from checkout import TABLE, Checkout
from standstill import hold

pytestmark = pytest.mark.slow


def wait(true: Callable[[], object], process: subprocess.Popen, seconds: float = 300) -> None:
    """Wait until something is true, while a process runs."""
    deadline = time.monotonic() + seconds
    while not true():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.long(part="reruns")
def test_a_killed_run_goes_on_and_its_living_jobs_are_waited_for(tiny, tmp_path):
    checkout = Checkout.beside(tiny, tmp_path / "work")
    checkout.forget("convlstm")
    scale = yaml.safe_load((checkout.folder / "tests/workflow/tiny.yaml").read_text())
    scale["dimensions"]["short_term"] = {
        "datasets": ["enso"],
        "models": ["persistence", "convlstm"],
    }
    scale["runtime"] |= {"checkpoint_every_s": 0}
    config = checkout.folder / "slow.yaml"
    config.write_text(yaml.safe_dump(scale))
    held = hold(checkout.folder)
    command = ["snakemake", "--profile", "local", "--configfile", str(config), "--", TABLE]
    driver = subprocess.Popen(
        command,
        cwd=checkout.folder,
        env=checkout.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait(lambda: list((checkout.store / "state").rglob("training.pt")), driver)

    # while it lives it is left alone
    done = checkout.run("stp", "run", "--resume")
    assert done.returncode == 1
    assert f"process {driver.pid} on this machine" in done.stdout
    assert driver.poll() is None

    driver.send_signal(signal.SIGKILL)
    driver.wait()
    (lease,) = (checkout.store / "state").rglob("lease.json")
    training = json.loads(lease.read_text())["pid"]
    os.kill(training, 0)  # the job of the old driver lives on
    done = checkout.run("snakemake", *command[1:])
    assert done.returncode == 1, "Snakemake alone does not go on: its lock is still there"
    assert "`stp run --resume`" in done.stdout

    log = tmp_path / "resumed.txt"
    with log.open("w") as file:
        resumed = subprocess.Popen(
            ["stp", "run", "--resume"],
            cwd=checkout.folder,
            env={**checkout.environment, "PYTHONUNBUFFERED": "1"},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    wait(lambda: "train of convlstm on enso, seed 0 on " in log.read_text(), resumed)
    held.unlink()
    assert resumed.wait(600) == 0, log.read_text()
    assert "unlocking" in log.read_text()
    assert f"--configfile {config} -- {TABLE}" in log.read_text()
    assert (checkout.folder / TABLE).is_file()
    (receipt,) = (checkout.store / "models/enso/convlstm").rglob("artefact.json")
    (attempt,) = json.loads(receipt.read_text())["attempts"]
    assert attempt["pid"] == training and attempt["how"] == "done", "made by the old job, once"

    # nothing is locked now, and nothing is left to do
    assert "unlocking" not in checkout.succeed("stp", "run", "--resume")
