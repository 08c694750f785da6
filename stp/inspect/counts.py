"""Count clips by split: expected from lists and rules, prepared, and published."""

import importlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from stp.core import named_modules, store
from stp.core.errors import StpError
from stp.core.options import as_json
from stp.core.receipts import require_receipt
from stp.data.prepared import Prepared
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset
from stp.prepare.output import SPLITS, Clip
from stp.prepare.planned_counts import Lists, Planned

NOT_PREPARED = "known when it is prepared"


def prepared_folder(plan: Plan, name: str) -> Path:
    """The folder of a prepared dataset.

    Raises:
        StpError: the dataset is not prepared.
    """
    # Before `plan.data`, which adds the dataset to the plan.
    is_planned = name in [artefact.dataset for artefact in plan.prepared]
    folder = plan.store / plan.data(name).folder
    if not store.is_complete(folder):
        raise StpError(
            f"{name} is not prepared at scale {plan.config.scale.scale}",
            expected=f"a finished folder {folder}",
            remedy=("" if is_planned else f"add `prepared: [{name}]` to the scale file, and ")
            + how_to_prepare(name),
        )
    return folder


def how_to_prepare(name: str) -> str:
    """Shell commands that prepare a dataset, as text."""
    return f"run `stp fetch {name}` and `stp prepare {name}`, with the same --configfile"


def reader_counts(plan: Plan, name: str) -> dict[str, Any] | None:
    """What the reader of a dataset counted when it prepared the dataset; None before that.

    Returns:
        counts by name, such as numbers of clips or people, from the receipt (the record beside the
        prepared data).
    """
    folder = plan.store / plan.data(name).folder
    return require_receipt(folder).extras if store.is_complete(folder) else None


@dataclass(frozen=True)
class Row:
    """Numbers of clips of one split of a dataset.

    Attributes:
        dataset: name in config/datasets.
        source: official, sample or synthetic.
        split: train, val, test, or another split of the index.
        counted: number of clips that follow from split lists and rules; None if unknown.
        prepared: number of clips in the store; None if the dataset is not prepared.
        published: number of clips in Table 1 of the paper; None if the table has no number, or if
            the configuration of the run differs from the paper, so that numbers are not comparable.
        note: reason for a difference or an unknown number.
        unexplained: whether the number differs from the published one without a stated reason.
    """

    dataset: str
    source: str
    split: str
    counted: int | None
    prepared: int | None
    published: int | None
    note: str = ""
    unexplained: bool = False

    @property
    def ours(self) -> int | None:
        """Number of prepared clips, or else the expected one."""
        return self.counted if self.prepared is None else self.prepared

    @property
    def difference(self) -> int | None:
        """The prepared or expected number minus the published one; None if either is unknown."""
        if self.ours is None or self.published is None:
            return None
        return self.ours - self.published

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "difference": self.difference}


@dataclass(frozen=True)
class ClipCounts:
    """What is known of the clips of a dataset: numbers, and names if they are known.

    Attributes:
        dataset: name of the dataset.
        planned: numbers of clips expected from lists and rules; None if unknown.
        reason: reason why ``planned`` is unknown.
        prepared: prepared data; None if they are not in the store.
    """

    dataset: str
    planned: Planned | None
    reason: str
    prepared: Prepared | None

    def index(self) -> pd.DataFrame:
        """The clips whose names are known, with the columns of an index; may be empty."""
        if self.prepared is not None:
            return self.prepared.index
        clips: Iterable[Clip] = () if self.planned is None else self.planned.clips
        return pd.DataFrame(list(clips), columns=list(Clip._fields))

    def unnamed(self) -> list[str]:
        """Names of splits whose clips have no known names, so that they cannot be compared."""
        splits = set(self.index()["split"])
        if self.prepared is not None:
            return [
                split for split in self.prepared.attrs.get("virtual", {}) if split not in splits
            ]
        if self.planned is None:
            return []
        others = {**self.planned.numbers, **self.planned.unknown}
        return [split for split in others if split not in splits]


def count_clips(plan: Plan, name: str) -> ClipCounts:
    """Count the clips of a dataset, from lists and in the store.

    Raises:
        StpError: prepared data are damaged.
    """
    planned, reason = None, ""
    try:
        promised = promise(plan, name)
        planned = Planned(list(promised.clips), promised.numbers, promised.unknown)
    except StpError as error:
        reason = _shortened(error)
    folder = plan.store / plan.data(name).folder
    prepared = Prepared(folder) if store.is_complete(folder) else None
    return ClipCounts(name, planned, reason, prepared)


def promise(plan: Plan, name: str) -> Planned:
    """Compute the numbers of clips that the preparation of a dataset will write.

    They follow from split lists and the rules of the dataset's reader, without reading the data.

    Raises:
        StpError: the reader is missing or cannot count, or a list is missing or damaged.
    """
    recipe = plan.recipes.prepare(name)
    module = named_modules.reader(recipe.reader)
    try:
        reader = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not module.startswith(error.name or module):
            raise
        raise StpError(f"there is no reader {module} yet") from None
    if not hasattr(reader, "count"):
        raise StpError(f"{NOT_PREPARED}: its reader has no `count`")
    planned: Planned = reader.count(as_json(recipe), Lists(plan.raw_roots(plan.raw(name))))
    return planned


def rows(plan: Plan, counts: ClipCounts) -> list[Row]:
    """Make a row for each split of a dataset: its numbers of clips, beside the published number.

    A row has the number expected from lists and rules, the number in the prepared data, and a
    reason for a difference from the published one.
    """
    dataset = plan.config.datasets[counts.dataset]
    counted = _counted(counts.planned)
    prepared = _prepared(counts.prepared)
    unknown = counts.planned.unknown if counts.planned is not None else {}
    names = dict.fromkeys([*SPLITS, *counted, *unknown, *prepared, *dataset.subsets])
    comparable = is_published_protocol(plan, counts.dataset)
    listed = []
    for split in names:
        published = dataset.counts.published.by_split.get(split) if comparable else None
        declared = _declared(dataset, split)
        is_known = counts.planned is not None or counts.prepared is not None
        has_none = split not in {**counted, **unknown, **prepared}
        if is_known and has_none and not published and not declared:
            continue  # a dataset for tests only has no training split
        row = Row(
            counts.dataset,
            dataset.releases[dataset.release].source,
            split,
            counted.get(split),
            prepared.get(split),
            published,
        )
        explained = dataset.counts.explained.get(split, "") if comparable else ""
        unexplained = bool(row.difference) and not explained
        notes = ["UNEXPLAINED"] if unexplained else []
        if row.ours is None and counts.planned is None:
            notes.append(counts.reason)
        elif explained or row.ours is None:
            notes.append(explained or unknown.get(split) or "not in its lists")
        if row.ours is not None and declared not in (None, row.ours) and comparable:
            notes.append(f"{plan.config.declared[counts.dataset]} says {declared:,}")
        listed.append(Row(**{**asdict(row), "note": "; ".join(notes), "unexplained": unexplained}))
    return listed


def is_published_protocol(plan: Plan, name: str) -> bool:
    """Whether numbers of clips are comparable with Table 1 of the paper.

    They are if the data are official, and the scale (configuration file of a run) changes no
    setting of the dataset.
    """
    dataset = plan.config.datasets[name]
    official = dataset.releases[dataset.release].source == "official"
    return official and not plan.config.scale.datasets.get(name)


def _declared(dataset: Dataset, split: str) -> int | None:
    """The number of clips that the configuration declares for estimates."""
    if split in SPLITS:
        return dataset.counts.by_split[split]
    return dataset.subsets[split].clips if split in dataset.subsets else None


def _counted(planned: Planned | None) -> dict[str, int]:
    if planned is None:
        return {}
    counts: dict[str, int] = {}
    for clip in planned.clips:
        counts[clip.split] = counts.get(clip.split, 0) + 1
    return {**counts, **planned.numbers}


def _prepared(prepared: Prepared | None) -> dict[str, int]:
    if prepared is None:
        return {}
    splits = dict.fromkeys([*SPLITS, *prepared.index["split"].unique()])
    return {split: len(prepared.clips(split)) for split in splits}


def _shortened(error: StpError) -> str:
    remedy = f": {error.remedy}" if error.remedy else ""
    return f"{error.what}{remedy}".replace("\n", " ")
