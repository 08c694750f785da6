"""Add captions, categories and labels to files for `snakemake --report`.

A caption is a file workflow/report/<name>.rst with the text that the report shows beside a file.
"""

from collections.abc import Callable, Mapping
from typing import Any

from snakemake.io import report

from stp.core.project import WORKFLOW
from stp.workflow.tables import Table

CAPTIONS = WORKFLOW.parent / "report"
IN_REPORT = ("csv", "html", "png")
"""Suffixes of those files of a table that are in the report; Markdown and LaTeX are left out."""


def caption_of(*names: str) -> str:
    """Find the first existing caption, the text beside a file in the report of Snakemake.

    Args:
        names: names of captions, the preferred one first. The caption ``table`` is the file
            workflow/report/table.rst.

    Returns:
        path of the caption.

    Raises:
        StopIteration: none of the captions exists.
    """
    return next(str(path) for name in names if (path := CAPTIONS / f"{name}.rst").is_file())


def in_report(
    path: str,
    caption: str,
    category: str,
    labels: Mapping[str, str | Callable[[Any], str]],
    subcategory: str | None = None,
) -> Any:
    """Include a file in the report of `snakemake --report`.

    Args:
        path: path of the file, with wildcards.
        caption: path of the caption of the file.
        category: category of the file in the report.
        labels: labels of the file by heading, e.g. ``{"figure": "{kind}"}``. A label is a text,
            whose wildcards are filled in, or a function of wildcards that returns the text.
        subcategory: subcategory of the file in the report; None for none.

    Returns:
        the path, marked for the report, for the outputs of a rule.
    """

    def labels_of(wildcards: Any) -> dict[str, str]:
        return {
            name: text(wildcards) if callable(text) else text.format(**dict(wildcards.items()))
            for name, text in labels.items()
        }

    return report(
        path, caption=caption, category=category, subcategory=subcategory, labels=labels_of
    )


def table_in_report(table: Table) -> dict[str, Any]:
    """Mark files of a table for the report of Snakemake: the CSV file, the page and the figure.

    Returns:
        paths of all files of the table by name in the rule, such as ``table`` or ``html``, for the
        outputs of the rule; those that the report shows are marked.
    """
    files = {}
    for name, path in table.files.items():
        ending = path.rpartition(".")[2]
        is_shown = path == table.path or (ending in IN_REPORT and ending != "csv")
        files[name] = (
            in_report(
                path,
                caption_of(*table.captions),
                "Tables",
                {
                    "table": table.name,
                    "format": {"html": "page"}.get(ending, ending.upper()),
                    "data": table.data_origin,
                },
            )
            if is_shown
            else path
        )
    return files
