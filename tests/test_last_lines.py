"""What a run of the tests says in its last lines on a machine that lacks something."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ONE = "test_view_names_are_like_the_official_ones"
"""Of two tests that need sample bytes."""


def last_lines(*arguments: str) -> list[str]:
    """Run tests that need sample bytes, without them; what was printed."""
    environment = {key: text for key, text in os.environ.items() if not key.startswith("STP_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments,
         "tests/fetch/test_generator_bridge.py"],
        cwd=ROOT, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


@pytest.mark.parametrize("workers", [(), ("--numprocesses", "1", "--dist", "loadfile")])
def test_they_name_what_could_not_run_and_how_to_have_it_run(workers):
    chosen = "not long and sample_bytes or long(part='demo')"
    *printed, heading, reason, left_out = last_lines("-m", chosen, "-k", ONE, *workers)
    assert heading == "1 tests could not run here:"
    needed = "set STP_RAW_MIRROR to the folder of the sample bytes to run this test"
    assert reason.strip() == f"1  {needed}"
    assert left_out.startswith("left out, since they are long: docs, kinds, reruns, browser, fuzz,")
    assert left_out.endswith("; `make test-all` runs them")
    assert "sample tests run: 0 of 1" in printed
