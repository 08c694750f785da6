"""Table 1 of PredBench: what it prints, what official data give, and what was prepared here."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.inspect import counts
from stp.page.commands import table_command
from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.page.plain_table import number
from stp.page.safe_text import csv_text
from stp.plan import config as configuration
from stp.plan.cells import Plan
from stp.plan.config import Config
from stp.plan.strict import CONFIG_FOLDER
from stp.prepare.output import SPLITS

FILE = CONFIG_FOLDER / "published" / "datasets.csv"
SIZES = ("frames", "context", "horizon", "long-term horizon")
HEADER = (
    "dataset",
    *(f"{name}{whose}" for name in SIZES for whose in ("", " published")),
    "split",
    "clips",
    "clips published",
    "difference",
    "why",
    "counted by",
    "scale",
    "source at scale",
    "release at scale",
    "frames at scale",
    "clips counted at scale",
    "clips prepared at scale",
)


@dataclass(frozen=True)
class Split:
    """The clips of one split.

    Attributes:
        official: that the complete official release gives, by its lists and our rules.
        published: in Table 1; None where it has no number.
        why: they differ, or there is nothing to compare with.
        here: at the scale at hand: counted and prepared; None if it has no such split.
    """

    official: int | None
    published: int | None
    why: str
    here: counts.Row | None

    @property
    def difference(self) -> int | None:
        """Official less published clips."""
        if self.official is None or self.published is None:
            return None
        return self.official - self.published


@dataclass(frozen=True)
class Statistics:
    """One dataset of the table.

    Attributes:
        sizes: ours and those of Table 1, as text, by the names in ``SIZES``.
        splits: by name.
        counted_by: who counted the official clips, and in what.
        source, release, frames: of the bytes at the scale at hand; empty if it has none of it.
        note: of the scale's release: what it holds instead of the official data.
    """

    dataset: str
    sizes: dict[str, tuple[str, str]]
    splits: dict[str, Split]
    counted_by: str
    source: str
    release: str
    frames: str
    note: str


def statistics(plan: Plan, file: Path = FILE) -> list[Statistics]:
    """Describe the datasets of Table 1, in its order.

    Args:
        plan: of the scale at hand; what it prepares is looked up in its store.
        file: sizes of frames and horizons as printed.

    Raises:
        StpError: the file has an unknown dataset or lacks a column, or prepared data are damaged.
    """
    paper = configuration.load(CONFIG_FOLDER / "paper.yaml")
    names = {dataset.published_name: name for name, dataset in paper.datasets.items()}
    here = {artefact.dataset for artefact in plan.prepared}
    found = []
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            try:
                name = names[row["dataset"]]
                printed = (
                    _frames(row[key] for key in ("channels", "height", "width")),
                    row["context"],
                    row["horizon"],
                    row["long_term_horizon"],
                )
            except KeyError as error:
                raise StpError(
                    f"{file}: {error} in the row of {row.get('dataset')!r}",
                    expected="published names of datasets, and the columns that README.md names",
                    remedy="mend the file",
                ) from None
            found.append(_of(paper, plan, name, dict(zip(SIZES, printed, strict=True)), here))
    return found


def _of(
    paper: Config, plan: Plan, name: str, printed: dict[str, str], here: set[str]
) -> Statistics:
    dataset, scaled = paper.datasets[name], plan.config.datasets[name]
    ours = (
        _frames(dataset.shape),
        str(dataset.context),
        str(dataset.horizon),
        _long_term(paper, name),
    )
    known = {}
    if name in here:
        known = {row.split: row for row in counts.rows(plan, counts.count_clips(plan, name))}
    release = scaled.releases[scaled.release]
    return Statistics(
        dataset=dataset.title,
        sizes={key: (ours[i], printed[key]) for i, key in enumerate(SIZES)},
        splits={
            split: Split(
                getattr(dataset.counts, split),
                getattr(dataset.counts.published, split),
                dataset.counts.explained.get(split, ""),
                known.get(split),
            )
            for split in SPLITS
        },
        counted_by=dataset.counts.source,
        source=release.source if name in here else "",
        release=scaled.release if name in here else "",
        frames=_frames(scaled.shape) if name in here else "",
        note=release.note if name in here else "",
    )


def _frames(shape: Any) -> str:
    return " x ".join(map(str, shape))


def _long_term(paper: Config, name: str) -> str:
    """The horizon of its evaluation in the long term, if it has one."""
    longer = [dimension for dimension, of in paper.suite.dimensions.items() if of.by_lead]
    found = [
        case.setting["horizon"]
        for dimension in longer
        if dimension in paper.scale.dimensions
        for case in paper.scale.dimensions[dimension].cases()
        if case.trained_on == name and "horizon" in case.setting
    ]
    return str(found[0]) if found else ""


def write(plan: Plan, out: Path) -> list[Statistics]:
    """Write the table as ``<name>.csv`` (a row per split), ``.md``, ``.tex`` and ``.html``.

    Raises:
        StpError: see `statistics`; or the disk refuses.
    """
    found = statistics(plan)
    scale = plan.config.scale.scale
    write_all({out: _csv(found, scale), **texts(_grid(found, scale, out.stem), out.parent)})
    return found


def _csv(found: list[Statistics], scale: str) -> str:
    lines: list[list[object]] = [list(HEADER)]
    for one in found:
        sizes = [value for pair in one.sizes.values() for value in pair]
        for name, split in one.splits.items():
            row = split.here
            clips = [split.official, split.published, split.difference, split.why, one.counted_by]
            at_scale = [scale, one.source, one.release, one.frames]
            made = [row.counted, row.prepared] if row else ["", ""]
            lines.append([one.dataset, *sizes, name, *clips, *at_scale, *made])
    return csv_text(lines)


def _grid(found: list[Statistics], scale: str, name: str) -> Grid:
    here = [one for one in found if one.source]
    others = [one for one in here if one.source != "official"]
    which = "all datasets" if others == here else ", ".join(one.dataset for one in others)
    return Grid(
        name=name,
        title="Statistics of the datasets",
        intro=[
            "Beside Table 1 of the PredBench paper. Numbers of clips are those that the complete "
            "official release gives, by its lists and our rules, as far as they can be counted; "
            "where the paper prints others, they stand in parentheses. Where the notes name "
            "Table 1 as the source of a number, its agreement shows nothing.",
        ],
        warnings=[
            f"At the scale {scale}, {which} are made from "
            f"{' and '.join(sorted({one.source for one in others}))} bytes: their numbers there "
            "are not those of the datasets."
        ]
        if others
        else [],
        sections=[_official(found), _here(here, scale)],
        legend=[
            "frames: channels x height x width; context, horizon: frames that are given and "
            "predicted; long-term: horizon of the long-term evaluation",
            "≠: not as printed; the reason is below the table",
            "–: there is none",
        ],
        made_from=f"Made by `{table_command(scale, name)}` from "
        "`config/datasets/`, `config/published/datasets.csv` and the prepared data of the scale.",
    )


def _official(found: list[Statistics]) -> Section:
    rows: list[list[str | Item]] = []
    notes = []
    for one in found:
        row: list[str | Item] = [one.dataset]
        row += [_beside(ours or "–", printed or "–") for ours, printed in one.sizes.values()]
        for name, split in one.splits.items():
            row.append(_clips(split))
            if split.why:
                notes.append(f"{one.dataset}, {name}: {split.why}")
            elif split.difference:
                notes.append(f"{one.dataset}, {name}: UNEXPLAINED")
        rows.append(row)
    notes += [f"{one.dataset}, numbers from: {one.counted_by}" for one in found if one.counted_by]
    columns = ["dataset", "frames", "context", "horizon", "long-term", *SPLITS]
    return Section("Official data", columns, rows, [False, False] + 6 * [True], notes=notes)


def _clips(split: Split) -> Item:
    """Clips beside the printed number; where that is none, a split of no clips is none, too."""
    if split.published is None:
        return Item(number(split.official or None, "–"))
    return _beside(number(split.official, "–"), number(split.published))


def _beside(ours: str, printed: str) -> Item:
    return Item(ours) if ours == printed else Item(ours, mark="≠", aside=printed)


def _here(found: list[Statistics], scale: str) -> Section:
    rows: list[list[str | Item]] = []
    for one in found:
        row: list[str | Item] = [one.dataset, one.source, one.release, one.frames]
        row += [_made(one.splits[split].here) for split in SPLITS]
        rows.append(row)
    notes = [f"{one.dataset}: {one.note}" for one in found if one.note]
    return Section(
        title=f"Prepared at the scale {scale}",
        columns=["dataset", "bytes", "release", "frames", *SPLITS],
        rows=rows,
        numeric=[False] * 4 + [True] * 3,
        notes=notes,
    )


def _made(row: counts.Row | None) -> str | Item:
    """Clips in the store; what is not prepared yet, or what the scale has none of, says so."""
    if row is None:
        return "–"
    if row.prepared is None:
        return "not prepared" if row.counted is None else f"{number(row.counted)} expected"
    if row.difference:
        return Item(number(row.prepared), mark="≠", aside=number(row.published))
    return number(row.prepared)
