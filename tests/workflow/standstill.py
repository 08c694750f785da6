"""Trainings that pause between steps, or stand still in their middle while a test needs it."""

from pathlib import Path

BETWEEN_STEPS = """
import os, pathlib, sys, threading, time

state = pathlib.Path(os.environ.get("STP_STORE_DIR", ""), "state")
clock, pause = time.monotonic, time.sleep

def monotonic():
    caller = sys._getframe(1)
    if caller.f_code.co_name == "_epoch" and "gradient_descent" in caller.f_code.co_filename:
        between_steps()
    return clock()

time.monotonic = monotonic
"""
"""What Python runs at its start (sitecustomize.py): a training looks at the clock between two
steps, and then calls ``between_steps``. What a process does can be told only then: children of the
job server have its command line."""
STANDSTILL = f"""{BETWEEN_STEPS}
def between_steps():
    if any(state.rglob("training.pt")):
        stand_still()
"""
"""A training that has saved its state calls ``stand_still``."""
HOLD = """
def stand_still():
    while pathlib.Path("hold").exists():
        pause(0.2)
"""


def hold(checkout: Path) -> Path:
    """Let trainings of a checkout stand still once they have saved their state.

    Returns:
        a file: they go on when it is deleted.
    """
    (checkout / "sitecustomize.py").write_text(STANDSTILL + HOLD)
    file = checkout / "hold"
    file.touch()
    return file


def slow_steps(folder: Path, seconds: float) -> None:
    """Let trainings of processes whose PYTHONPATH names a folder pause before each step."""
    text = f"{BETWEEN_STEPS}\ndef between_steps():\n    pause({seconds})\n"
    (folder / "sitecustomize.py").write_text(text)
