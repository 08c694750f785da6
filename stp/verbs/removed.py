"""Verbs and options that went, and what replaces them; until 0.2."""

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
"""Only of verbs that have the option of today."""


def refuse_verb(name: str) -> None:
    """Name what replaces a verb.

    Raises:
        StpError: the verb went.
    """
    if name in VERBS:
        raise StpError(f"`stp {name}` has been removed", remedy=f"use `stp {VERBS[name]}`")


def refuse_option(context: Any, name: str) -> None:
    """Name what replaces an option.

    Args:
        context: of the verb, as Typer has it.
        name: an option that the verb does not have.

    Raises:
        StpError: the option went.
    """
    today = OPTIONS.get(name, "")
    has = {option for parameter in context.command.params for option in parameter.opts}
    if today.split()[:1] and today.split()[0] in has:
        verb = context.command_path
        raise StpError(f"`{verb} {name}` has been removed", remedy=f"use `{verb} {today}`")
