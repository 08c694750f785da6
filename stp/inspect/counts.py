"""Count the clips of each split: as split lists and rules promise, prepared, and published."""

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
    """Find the folder of a prepared dataset in the store.

    Raises:
        StpError: the dataset is not prepared.
    """
    # Before `plan.data`, which adds the dataset to the plan.
    is_planned = name in [artefact.dataset for artefact in plan.prepared_data]
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
    """Write how to prepare a dataset, e.g. "run `stp fetch kth` and `stp prepare kth`"."""
    return f"run `stp fetch {name}` and `stp prepare {name}`, with the same --configfile"


def reader_counts(plan: Plan, name: str) -> dict[str, Any] | None:
    """Look up what the reader of a dataset counted when it prepared the dataset.

    Returns:
        counts by name, such as numbers of clips or people, from the receipt of the prepared data;
        None before the dataset is prepared.
    """
    folder = plan.store / plan.data(name).folder
    return require_receipt(folder).extras if store.is_complete(folder) else None


@dataclass(frozen=True)
class Row:
    """Numbers of samples of one split of a dataset, e.g. of clips.

    Attributes:
        dataset: name of the dataset, in config/datasets.
        source: origin of the raw files: official, sample, synthetic or own.
        split: train, val, test or a subset; for tracks, a protocol and a part of the data; for
            opinions, a family of splits.
        counted: number of samples that follow from split lists and rules; None if unknown.
        prepared: number of samples in the prepared data; None if the dataset is not prepared.
        published: number that a paper prints, such as PredBench in its Table 1; None if none is
            declared, or if the numbers are not comparable (see `is_published_protocol`).
        note: reason for a difference or for an unknown number, or another remark; may be empty.
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
        """The number of prepared samples or, before the preparation, the counted number."""
        return self.counted if self.prepared is None else self.prepared

    @property
    def difference(self) -> int | None:
        """Our number (`ours`) minus the published one; None if either is unknown."""
        if self.ours is None or self.published is None:
            return None
        return self.ours - self.published

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "difference": self.difference}


@dataclass(frozen=True)
class ClipCounts:
    """What is known of the clips of a dataset: their numbers, and perhaps their names.

    Attributes:
        dataset: name of the dataset.
        planned: clips that follow from split lists and rules; None if unknown.
        reason: reason why ``planned`` is unknown; empty if it is known.
        prepared: prepared data; None if they are not in the store.
    """

    dataset: str
    planned: Planned | None
    reason: str
    prepared: Prepared | None

    def index(self) -> pd.DataFrame:
        """List the clips whose names are known, with a row (`Clip`) for each; may be empty."""
        if self.prepared is not None:
            return self.prepared.index
        clips: Iterable[Clip] = () if self.planned is None else self.planned.clips
        return pd.DataFrame(list(clips), columns=list(Clip._fields))

    def unnamed_splits(self) -> list[str]:
        """List the splits whose clips have no known names and thus cannot be compared."""
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
    """Count the clips of a dataset, in its split lists and in the store.

    Raises:
        StpError: prepared data are damaged.
    """
    planned, reason = None, ""
    try:
        promised = expected_counts(plan, name)
        planned = Planned(list(promised.clips), promised.numbers, promised.unknown)
    except StpError as error:
        reason = _format_error(error)
    folder = plan.store / plan.data(name).folder
    prepared = Prepared(folder) if store.is_complete(folder) else None
    return ClipCounts(name, planned, reason, prepared)


def expected_counts(plan: Plan, name: str) -> Planned:
    """Find out which clips the preparation of a dataset will write, without reading the data.

    The clips follow from split lists and from rules of the dataset's reader.

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
    """Make a row for each split of a dataset, with its numbers of clips.

    The numbers are those that follow from split lists and rules, those in the prepared data, and
    the published ones. A row also has the reason why they differ.
    """
    dataset = plan.config.datasets[counts.dataset]
    counted = _count_planned(counts.planned)
    prepared = _count_prepared(counts.prepared)
    unknown = counts.planned.unknown if counts.planned is not None else {}
    names = dict.fromkeys([*SPLITS, *counted, *unknown, *prepared, *dataset.subsets])
    comparable = is_published_protocol(plan, counts.dataset)
    listed = []
    for split in names:
        published = dataset.counts.published.by_split.get(split) if comparable else None
        declared = _declared_count(dataset, split)
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
    """Whether numbers of clips of a dataset are comparable with published ones.

    They are if the data are official, and the scale overrides no option of the dataset. Published
    numbers are those that the dataset's file declares (``counts: published:``), such as those of
    Table 1 of PredBench.

    Args:
        plan: plan of the scale.
        name: name of the dataset.
    """
    dataset = plan.config.datasets[name]
    official = dataset.releases[dataset.release].source == "official"
    return official and not plan.config.scale.datasets.get(name)


def _declared_count(dataset: Dataset, split: str) -> int | None:
    """The number of clips that the configuration declares for estimates."""
    if split in SPLITS:
        return dataset.counts.by_split[split]
    return dataset.subsets[split].clips if split in dataset.subsets else None


def _count_planned(planned: Planned | None) -> dict[str, int]:
    if planned is None:
        return {}
    counts: dict[str, int] = {}
    for clip in planned.clips:
        counts[clip.split] = counts.get(clip.split, 0) + 1
    return {**counts, **planned.numbers}


def _count_prepared(prepared: Prepared | None) -> dict[str, int]:
    if prepared is None:
        return {}
    splits = dict.fromkeys([*SPLITS, *prepared.index["split"].unique()])
    return {split: len(prepared.clips(split)) for split in splits}


def _format_error(error: StpError) -> str:
    remedy = f": {error.remedy}" if error.remedy else ""
    return f"{error.what}{remedy}".replace("\n", " ")
