"""Removed verbs and options, with their replacements; until 0.2."""

from typing import Any

from stp.core.errors import StpError

VERBS = {
    "cite": "list works",
    "conventions": "table convention_effects",
    "data": "list datasets",
    "evaluate": "videos evaluate",
    "export": "store export",
    "figure": "draw figure",
    "findings": "table findings",
    "fvd": "videos fvd",
    "gc": "store gc",
    "import": "store import",
    "import-predictions": "external import",
    "leak": "check leak",
    "metrics": "list metrics",
    "models": "list models",
    "pictures": "draw pictures",
    "preferences": "study preferences",
    "quality": "videos quality",
    "questionnaire": "study questionnaire",
    "resume": "run --resume",
    "runtime": "table runtime",
    "schema": "list store",
    "site": "list site",
    "trajectories": "draw trajectories",
    "trust": "list metrics",
    "verify": "store verify",
    "weights": "list weights",
    "windows": "external windows",
}
OPTIONS = {
    "--case": "--cell",
    "--json": "--format json",
    "--model": "--cell",
    "--on": "--cell",
    "--reliability": "--study reliability",
    "--reproduction": "--study reproduction",
    "--test": "--cell",
}
"""For verbs that have the replacement."""


def refuse_verb(name: str) -> None:
    """Name the replacement of a removed verb.

    Raises:
        StpError: the verb was removed.
    """
    if name in VERBS:
        raise StpError(f"`stp {name}` has been removed", remedy=f"use `stp {VERBS[name]}`")


def refuse_option(context: Any, name: str) -> None:
    """Name the replacement of a removed option.

    Args:
        context: Typer's context of the verb.
        name: an option that the verb does not have.

    Raises:
        StpError: the option was removed.
    """
    replacement = OPTIONS.get(name, "")
    options = {option for parameter in context.command.params for option in parameter.opts}
    if replacement and replacement.split()[0] in options:
        verb = context.command_path
        raise StpError(f"`{verb} {name}` has been removed", remedy=f"use `{verb} {replacement}`")
