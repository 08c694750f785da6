"""Small files that the Snakefile writes while it is read: idempotent, atomic, and cheap.

Jobs on a cluster read the Snakefile again, several at a time, so what is written here is
named by its content or written by the main process only.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from stp.core.disk import write_text, write_text_if_changed
from stp.core.fingerprint import Sources, digest
from stp.core.json_files import json_or_none
from stp.core.receipts import checksum
from stp.plan import config as configuration
from stp.plan import profiled as networks
from stp.plan.cells import Plan
from stp.plan.code import RENDER
from stp.plan.manifest import manifest_text
from stp.plan.manifests import Paper, manifest
from stp.run.results import LAST_RUN, PLANNED_RUN, RESULTS, last_scale

MADE_FROM = ".made_from.json"
"""Ends the name of the file beside a table that tells what it was made from."""
BESIDE = ("_tidy", "_leads", "_agreement")
"""End the names of further files of a table, such as ``short_term_tidy.csv``."""
NOT_MADE = ("logs",)
"""Folders of results whose times say nothing to Snakemake."""
DRAWN = ("dimension", "cells", "names", "tables")
"""What pictures read of a manifest."""
FACTS = ("datasets", "models")
"""Folders of the configuration that tables of facts are made from, besides the suite's own."""


@cache
def _sources() -> Sources:
    """The modules of the package, read once for all files that name code."""
    return Sources()


def write_config(plan: Plan, results: Path = RESULTS) -> Path:
    """Write the effective configuration, so that every verb makes the very same plan."""
    content = plan.config.scale.model_dump(mode="json", exclude_unset=True)
    text = json.dumps(content, indent=1) + "\n"  # as it is: variables have an order
    path = results / "plan" / f"config-{digest(text)}.json"
    write_text_if_changed(path, text)
    return path


def write_counted(plan: Plan, targets: Iterable[str], results: Path = RESULTS) -> None:
    """Note which dimensions the targets of a run need, so that progress counts these.

    A target names them: ``results/tables/short_term.csv``. Targets that name none need all.
    """
    words = [set(re.split(r"[/.]", target)) for target in targets]
    named = [name for name in plan.config.scale.dimensions if any(name in word for word in words)]
    every = not words or any(not word & set(named) for word in words)
    text = json.dumps(None if every else named) + "\n"
    write_text_if_changed(results / "plan" / "counted.json", text)


def counted(results: Path = RESULTS) -> list[str] | None:
    """The dimensions that the current run needs; None for all."""
    found: list[str] | None = json_or_none(results / "plan" / "counted.json")
    return found


def write_data_list(plan: Plan, write: bool = True, results: Path | None = None) -> Path:
    """Write which prepared data the scale has, where the text differs.

    Returns:
        the path.
    """
    path = (results or results_of(plan)) / "plan" / "data.json"
    if write:
        receipts = [data.receipt for data in plan.prepared]
        write_text_if_changed(path, json.dumps(receipts, indent=1) + "\n")
    return path


def results_of(plan: Plan) -> Path:
    """The folder of all that a run makes of a scale besides the store."""
    return RESULTS / plan.config.scale.scale


def write_last_run(plan: Plan, write: bool = True, only_plans: bool = False) -> Path:
    """Note the scale of a run, where it is another one than that of the last run.

    The copies in results/tables depend on it.

    Args:
        plan: of the run.
        write: whether to note anything; jobs of a run do not.
        only_plans: nothing is run, so the scale of the last run stays. A new file stands in for
            the changed one, so that the plan has the copies that the run would make.

    Returns:
        the path.
    """
    scale = plan.config.scale.scale
    if write and only_plans and last_scale() != scale:
        write_text(PLANNED_RUN, f"{scale}\n")
        return PLANNED_RUN
    if write:
        write_text_if_changed(LAST_RUN, f"{scale}\n")
    return LAST_RUN


def remove_tables_of_others(plan: Plan) -> None:
    """Remove the copies in results/tables if those of another scale were made last.

    So nobody takes them for tables of a run that fails. They are still in that scale's folder.
    """
    tables, told = RESULTS / "tables", RESULTS / "plan" / "tables-of"
    scale = plan.config.scale.scale
    if told.is_file() and told.read_text().strip() != scale:
        shutil.rmtree(tables, ignore_errors=True)
    write_text_if_changed(told, f"{scale}\n")


def manifest_path(dimension: str, results: Path) -> Path:
    """Where the manifest of a dimension's tables lives, in the folder of a scale."""
    return results / "plan" / f"{dimension}.json"


def write_manifests(plan: Plan, write: bool = True, results: Path | None = None) -> dict[str, Path]:
    """Write what each dimension's tables are made from, where the text differs.

    Returns:
        the path by dimension.
    """
    paths: dict[str, Path] = {}
    paper = Paper(plan.config.scale.suite) if write else None
    for dimension in plan.config.scale.dimensions:
        paths[dimension] = manifest_path(dimension, results or results_of(plan))
        if write:
            write_text_if_changed(paths[dimension], manifest_text(manifest(plan, dimension, paper)))
    if write:
        follow_content(list(plan.config.scale.dimensions), results or results_of(plan))
    return paths


def note_made_from(manifest: Path, table: Path) -> None:
    """Note beside a table which manifest and code it was made from, and what its files hold.

    Args:
        manifest: of its dimension.
        table: its CSV file; the other formats lie beside it.
    """
    noted = {
        "manifest": manifest.name,
        "code": _code_of(table),
        "sha256": checksum(manifest),
        "files": {path.name: checksum(path) for path in files_of_table(table)},
    }
    write_text(table.with_name(f".{table.stem}{MADE_FROM}"), json.dumps(noted, indent=1) + "\n")


def files_of_table(table: Path) -> list[Path]:
    """List the files of a table: that of its name, other formats, and further ones beside it."""
    stems = (table.stem, *(f"{table.stem}{end}" for end in BESIDE))
    return sorted(path for path in table.parent.iterdir() if path.stem in stems and path.is_file())


def _code_of(table: Path) -> str:
    """The meaning of the code that makes a table."""
    return _sources().code_of([RENDER.get(table.stem, RENDER["dimension"])]).fingerprint


def is_table_current(table: Path, manifest: Path) -> bool:
    """Is a table made from the manifest and by the code of now, and are its files as made?"""
    try:
        noted = json.loads(table.with_name(f".{table.stem}{MADE_FROM}").read_bytes())
        return bool(
            noted["sha256"] == checksum(manifest)
            and noted["code"] == _code_of(table)
            and table.name in noted["files"]
            and all(checksum(table.parent / name) == one for name, one in noted["files"].items())
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def follow_content(dimensions: Iterable[str], results: Path) -> None:
    """Let the times of rows and tables say what their content says: Snakemake looks at times.

    What was made from another manifest gets a time before that of the manifest that is planned, so
    that it is made again: after a revert, or where `rsync` or a clock that runs ahead has left
    files that look newer. A time in the future, which nothing made now could reach, becomes now.

    Args:
        dimensions: that the plan has.
        results: the folder of a scale: ``plan``, ``collected``, ``tables`` and what is made from
            these. Copies of its tables lie in ``tables`` beside it.
    """
    now = time.time()
    made = [folder for folder in results.glob("*/") if folder.name not in NOT_MADE]
    copies = results.parent / "tables"
    shared = results.parent / "plan"  # of all scales: the last run, code of tables and pictures
    for path in (path for folder in (*made, copies, shared) for path in folder.rglob("*")):
        if path.is_file() and path.stat().st_mtime > now:
            os.utime(path, (now, now))
    for dimension in dimensions:
        planned = manifest_path(dimension, results)
        rows = _rows_of(planned, results)
        kept = rows.with_suffix(".json")  # what they were collected from
        if not kept.is_file() or kept.read_bytes() != planned.read_bytes():
            _make_older(rows, planned)
    tables = {
        results / "tables" / f"{dimension}.csv": manifest_path(dimension, results)
        for dimension in dimensions
    }
    for note in (results / "tables").glob(f".*{MADE_FROM}"):  # such as that of the reproduction
        name = note.name.removeprefix(".").removesuffix(MADE_FROM)
        with contextlib.suppress(ValueError, KeyError, TypeError):
            manifest = results / "plan" / json.loads(note.read_bytes())["manifest"]
            tables.setdefault(note.with_name(f"{name}.csv"), manifest)
    for table, manifest in tables.items():
        if manifest.is_file() and not is_table_current(table, manifest):
            _make_older(table, manifest, _rows_of(manifest, results))
    for copy in copies.glob("*.csv"):
        table = results / "tables" / copy.name
        if table.is_file() and _contents(copy) != _contents(table):
            _make_older(copy, table)


def _contents(table: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in files_of_table(table)}


def _rows_of(manifest: Path, results: Path) -> Path:
    return results / "collected" / f"{manifest.stem}.parquet"


def _make_older(path: Path, *than: Path) -> None:
    limit = min(one.stat().st_mtime for one in than if one.is_file())
    if path.is_file() and path.stat().st_mtime >= limit:
        os.utime(path, (limit - 1, limit - 1))


def whose_bytes(plan: Plan) -> dict[str, str]:
    """Say whose bytes the numbers of each dimension are from, and of all together (``all``)."""
    tested: dict[str, set[str]] = {name: set() for name in plan.config.scale.dimensions}
    for made in plan.cells:
        tested[made.cell.dimension].add(made.cell.tested_on)
    tested["all"] = set().union(*tested.values())
    said = {}
    for dimension, names in tested.items():
        datasets = [plan.config.datasets[name] for name in names]
        sources = sorted({one.releases[one.release].source for one in datasets})
        said[dimension] = f"{' and '.join(sources)}, scale {plan.config.scale.scale}"
    return said


def captions(plan: Plan) -> dict[str, str]:
    """What captions of `snakemake --report` say of each dimension."""
    dimensions = {}
    for name in plan.config.scale.dimensions:
        one = plan.config.suite.dimensions[name]
        printed = f" (the paper's {one.printed})" if one.printed else ""
        dimensions[name] = f"{one.title}: {one.about}{printed}. {one.question}"
    return dimensions


def write_profile_input(
    model: str, dataset: str, write: bool = True, results: Path = RESULTS
) -> Path:
    """Write what the measurement of a network is made from, where the text differs.

    The network is that of the paper, whatever the scale.

    Returns:
        the path.

    Raises:
        StpError: there is no such network or dataset.
    """
    path = results / "plan" / "profile" / f"{model}-{dataset}.json"
    if write:
        paper = configuration.load(configuration.CONFIG_FOLDER / "paper.yaml")
        write_text_if_changed(path, networks.made_from(paper, model, dataset))
    return path


def write_code_input(
    name: str, roots: Iterable[str], write: bool = True, results: Path = RESULTS
) -> Path:
    """Write what the code is that draws something, where it differs.

    An edit of it draws these again, and makes no table again.

    Args:
        name: of the file.
        roots: modules that draw.
        write: whether this process is the one that writes.
        results: where figures are made.

    Returns:
        the path.
    """
    path = results / "plan" / f"{name}.json"
    if write:
        described = {"code": _sources().code_of(roots).fingerprint}
        write_text_if_changed(path, json.dumps(described, indent=1) + "\n")
    return path


def write_pictures_input(
    name: str, roots: Iterable[str], manifests: Mapping[str, Path], write: bool = True
) -> dict[str, Path]:
    """Write what the pictures of each dimension are made from, where it differs.

    Scores are collected before pictures are drawn; but what else is collected, or is made from
    what is collected, draws no picture again.

    Args:
        name: of the files.
        roots: modules that draw.
        manifests: of the dimensions.
        write: whether this process is the one that writes.

    Returns:
        the path by dimension.
    """
    paths = {
        dimension: path.with_name(f"{name}-{path.name}") for dimension, path in manifests.items()
    }
    if write:
        code = _sources().code_of(roots).fingerprint
        for dimension, path in paths.items():
            whole = json.loads(manifests[dimension].read_bytes())
            described = {"code": code, **{key: whole[key] for key in DRAWN}}
            write_text_if_changed(path, json.dumps(described, indent=1) + "\n")
    return paths


def write_table_input(
    name: str, roots: Iterable[str], plan: Plan, write: bool = True, results: Path | None = None
) -> Path:
    """Write what a table is made from that comes from configuration, where the text differs.

    Args:
        name: of the table.
        roots: modules that make it.
        plan: of the scale.
        write: whether this process is the one that writes.
        results: where tables are made.

    Returns:
        the path.
    """
    path = (results or results_of(plan)) / "plan" / f"{name}.json"
    if write:
        facts = hashlib.sha256()
        folders = [configuration.CONFIG_FOLDER / folder for folder in FACTS]
        for folder in (*folders, plan.config.suite.folder):
            for file in sorted(path for path in folder.iterdir() if path.is_file()):
                facts.update(f"{file.name}\n".encode() + file.read_bytes())
        scale = plan.config.scale.model_dump(mode="json", exclude={"runtime", "paths"})
        described = {
            "code": plan.sources.code_of(roots).fingerprint,
            "facts": facts.hexdigest(),
            "scale": digest(scale),
        }
        write_text_if_changed(path, json.dumps(described, indent=1) + "\n")
    return path
