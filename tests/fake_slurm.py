"""Stand-ins for Slurm's commands, for tests of what we make of their answers.

The real ones are in tests/slurm; here are the answers that a small Slurm never gives.
"""

from pathlib import Path

import pytest


def answer(monkeypatch: pytest.MonkeyPatch, folder: Path, **answers: str) -> None:
    """Let commands print fixed text, and forget the others.

    Args:
        monkeypatch: of the test.
        folder: gets the commands.
        answers: what each command prints; commands without an answer do not exist.
    """
    folder.mkdir(exist_ok=True)
    for name, text in answers.items():
        command = folder / name
        command.write_text(f"#!/bin/sh\necho \"$@\" >> {folder}/asked\ncat <<'END'\n{text}\nEND\n")
        command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin" if answers else str(folder))


def job(**fields: str) -> str:
    """What ``scontrol show job --oneliner`` prints, shortened."""
    known = {"JobId": "7", "JobName": "train", "JobState": "RUNNING", "PreemptTime": "None"}
    return " ".join(f"{key}={value}" for key, value in {**known, **fields}.items())
