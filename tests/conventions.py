"""Conventions of the configuration by name, for tests."""

from typing import Any

from stp.plan.metric import read_convention
from stp.score.conventions import build


def defined(*names: str) -> dict[str, dict[str, Any]]:
    """Functions and options of conventions, as in score recipes."""
    return {name: read_convention(name, "a test")[1].definition for name in names}


def convention(name: str) -> Any:
    """A convention that computes."""
    return build(name, defined(name)[name])
