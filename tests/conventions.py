"""Conventions of the configuration, for tests: by their names."""

from typing import Any

from stp.plan.metric import declared
from stp.score.conventions import Convention, build


def defined(*names: str) -> dict[str, dict[str, Any]]:
    """Functions and options of conventions, as score recipes have them."""
    return {name: declared(name, "a test")[1].definition for name in names}


def convention(name: str) -> Any:
    """The convention itself."""
    made: Convention = build(name, defined(name)[name])
    return made
