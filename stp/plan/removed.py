"""Errors for removed verbs, options and names of the configuration, kept until version 0.2."""

from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from stp.core.errors import ConfigurationError, StpError
from stp.core.json_files import Json

VERBS = {
    "accept": "store accept",
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
    "report": "render",
    "resume": "run --resume",
    "runtime": "table runtime",
    "schema": "list store",
    "show": "trace, draw clips",
    "site": "list site",
    "trajectories": "draw trajectories",
    "trust": "list metrics",
    "verify": "store verify",
    "weights": "list weights",
    "windows": "external windows",
}
"""For each removed verb, its replacement, or several, separated by commas."""
OPTIONS = {
    "--case": "--cell",
    "--column": "--metric",
    "--json": "--format json",
    "--model": "--cell",
    "--on": "--cell",
    "--reliability": "--study reliability",
    "--reproduction": "--study reproduction",
    "--test": "--cell",
}
"""For each removed option, its replacement, in verbs that have it."""
FILES = {
    "equivalent.yaml": "delete it; `stp store accept` takes artefacts of older code as current",
    "search": "delete it; `grids:` of a model declares variants with several values of an option",
    "suites/*.yaml": "move it to suites/NAME/suite.yaml",
    "suites/*/*.sql": "move it to suites/NAME/views/",
    "published/*.csv": "move it to suites/NAME/published.csv",
    "*_findings/*.sql": "move it to suites/NAME/findings/",
}
"""For patterns of files or folders of the configuration, advice on what to do with them."""
KEYS = {
    ("Model", "submissions.imported"): "delete the line",
    ("Suite", "published"): "the file is suites/NAME/published.csv, without a key",
}
"""For each class and removed key (without positions in lists), its replacement."""
GENERATORS = {
    "atlas_crowd": "atlas.crowd",
    "atlas_situation": "atlas.situation",
    "chaosbench_centre": "chaosbench.centre",
    "chaosbench_centres": "chaosbench.centres",
    "chaosbench_learned": "chaosbench.learned",
}
"""New name of a generator by its old name."""
_COLUMNS = "no format and `columns: {time: 0, person: 1, x: 2, y: 3}`"
VALUES = {
    ("format", "atc"): _COLUMNS,
    ("format", "thor"): _COLUMNS,
    ("by", "hmdb51"): "by: action_lists",
    ("by", "kinetics"): "by: clip_table",
}
"""For each key of a reader's options or of their splits, and its old value, the replacement."""


def refuse_files(folder: Path) -> None:
    """Refuse a configuration that has files of a form that stp no longer reads.

    Args:
        folder: folder of the configuration.

    Raises:
        ConfigurationError: there is such a file; the message names what replaces it.
    """
    for pattern, remedy in FILES.items():
        for path in sorted(folder.glob(pattern)):
            raise ConfigurationError(f"{path}: no longer read", remedy=remedy)


def check_generator(name: str) -> str:
    """Check that the name of a generator of raw files is not one that was replaced.

    Returns:
        ``name``, unchanged.

    Raises:
        PydanticCustomError: the name was replaced, e.g. ``atlas_crowd``; the message has the new
            one, ``atlas.crowd``.
    """
    if name in GENERATORS:
        raise PydanticCustomError("removed", "{name}, its new name", {"name": GENERATORS[name]})
    return name


def check_options(options: Json) -> Json:
    """Check that the options of a reader have no value that was removed.

    Returns:
        ``options``, unchanged.

    Raises:
        PydanticCustomError: a value was removed, e.g. ``by: kinetics``; the message says what
            replaces it, ``by: clip_table``.
    """
    splits = options.get("splits")
    for mapping in (options, splits if isinstance(splits, dict) else {}):
        for key, value in mapping.items():
            instead = VALUES.get((key, value)) if isinstance(value, str) else None
            if instead is not None:
                raise PydanticCustomError(
                    "removed",
                    "{instead}, since {key}: {value} was removed",
                    {"instead": instead, "key": key, "value": value},
                )
    return options


def refuse_verb(name: str) -> None:
    """Refuse a removed verb, and name its replacement.

    Raises:
        StpError: the verb was removed.
    """
    if name in VERBS:
        replacements = " or ".join(f"`stp {verb}`" for verb in VERBS[name].split(", "))
        raise StpError(f"`stp {name}` has been removed", remedy=f"use {replacements}")


def refuse_option(context: Any, name: str) -> None:
    """Refuse a removed option, and name its replacement.

    Args:
        context: context of the verb in Typer.
        name: unknown option of the verb, such as ``--json``.

    Raises:
        StpError: the option was removed.
    """
    replacement = OPTIONS.get(name, "")
    options = {option for parameter in context.command.params for option in parameter.opts}
    if replacement and replacement.split()[0] in options:
        verb = context.command_path
        raise StpError(f"`{verb} {name}` has been removed", remedy=f"use `{verb} {replacement}`")
