"""Lines of YAML that all drafts share."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import yaml

from stp.page.commands import table_command


def flow(value: object) -> str:
    """A value on one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...").replace(": null", ": ")


def release_lines(files: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The release of a dataset with its entries of files."""
    yield "release: own # other files of yours are another release"
    yield "releases:"
    yield "  own:"
    yield "    source: own"
    yield "    files:"
    yield from (f"      - {flow(entry)}" for entry in files)


def scale_lines(name: str, models: str, table: str) -> Iterator[str]:
    """The head of a scale file: its purpose, the command that makes its table, its name.

    Args:
        name: name of the dataset and of the scale file.
        models: models that it runs, in words.
        table: name of its table.
    """
    yield f"# The dataset {name}, with {models}: a start."
    yield "#"
    yield f"#     {table_command(name, table)}"
    yield f"scale: {name.replace('_', '-')}"


def mirror_lines(mirror: Path | None) -> Iterator[str]:
    """The folder of the raw files, unless it is configured already."""
    if mirror is not None:
        yield f"paths: {{mirror: {flow(str(mirror))}}} # where the raw files are"
