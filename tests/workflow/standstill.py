"""Trainings that stand still in their middle, for as long as a test needs, on any machine."""

from pathlib import Path

STANDSTILL = """
import os, pathlib, sys, threading, time

state = pathlib.Path(os.environ["STP_STORE_DIR"], "state")
pause = time.sleep

def sleep(seconds):
    pause(seconds)
    trains = "train" in sys.argv and threading.current_thread() is threading.main_thread()
    if trains and any(state.rglob("training.pt")):
        stand_still()

time.sleep = sleep
"""
"""What Python runs at its start (sitecustomize.py): a training that has saved its state calls
``stand_still`` between two steps, where ``slow_step_s`` pauses. What a process does can be told
only then: children of the job server have its command line."""
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
