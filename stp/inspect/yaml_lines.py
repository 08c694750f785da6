"""Write lines of YAML that all drafts (generated configuration files to edit) share."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import yaml

from stp.page.commands import table_command


def flow(value: object) -> str:
    """Format a value as one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...").replace(": null", ": ")


def release_lines(files: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Lines that declare a release (a version of the raw files) with its entries for files."""
    yield "release: own # other files of yours are another release"
    yield "releases:"
    yield "  own:"
    yield "    source: own"
    yield "    files:"
    yield from (f"      - {flow(entry)}" for entry in files)


def scale_lines(name: str, models: str, table: str) -> Iterator[str]:
    """Lines at the head of a scale file (what is evaluated): purpose, command, name.

    Args:
        name: name of the dataset and of the scale file.
        models: models that the scale runs, in words.
        table: name of the table that the scale makes.
    """
    yield f"# The dataset {name}, with {models}: a start."
    yield "#"
    yield f"#     {table_command(name, table)}"
    yield f"scale: {name.replace('_', '-')}"


def mirror_lines(mirror: Path | None) -> Iterator[str]:
    """Lines of a scale file that set the mirror, a read-only folder of raw files.

    Args:
        mirror: folder with the raw files of the user; None if it needs no line, because it is one
            of the configured folders of raw files. There are no lines then.
    """
    if mirror is not None:
        yield f"paths: {{mirror: {flow(str(mirror))}}} # where the raw files are"
