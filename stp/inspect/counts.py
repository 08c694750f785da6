"""Clips of each split: as lists and rules promise them, as prepared, and as published."""

import importlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass

import pandas as pd

from stp.core import named_modules, store
from stp.core.errors import StpError
from stp.core.options import as_json
from stp.data.prepared import Prepared
from stp.plan.cells import Plan
from stp.plan.dataset import Dataset
from stp.prepare.output import SPLITS, Clip
from stp.prepare.planned_counts import Lists, Planned


@dataclass(frozen=True)
class Row:
    """One split of one dataset.

    Attributes:
        dataset: its name in config/datasets.
        source: official, sample or synthetic.
        split: train, val, test, or another one that the index names.
        counted: clips that the reader expects from split lists and rules; None if unknown.
        prepared: clips in the store; None if it is not there.
        published: clips in Table 1 of the paper; None where it has none, or where the scale is not
            the paper's, so that a comparison would mean nothing.
        note: why they differ, or why they are not known.
        unexplained: whether ours differ from the published ones, and nothing says why.
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
        """Clips of real data where they are there, and otherwise those expected."""
        return self.counted if self.prepared is None else self.prepared

    @property
    def difference(self) -> int | None:
        """Ours less the published ones."""
        if self.ours is None or self.published is None:
            return None
        return self.ours - self.published

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "difference": self.difference}


@dataclass(frozen=True)
class ClipCounts:
    """What can be known of the clips of a dataset now.

    Attributes:
        dataset: its name.
        planned: from lists and rules; None if they say nothing.
        reason: why they do not.
        prepared: the prepared data; None if they are not in the store.
    """

    dataset: str
    planned: Planned | None
    reason: str
    prepared: Prepared | None

    def index(self) -> pd.DataFrame:
        """Clips that are known by name, with the columns of an index; perhaps none."""
        if self.prepared is not None:
            return self.prepared.index
        clips: Iterable[Clip] = () if self.planned is None else self.planned.clips
        return pd.DataFrame(list(clips), columns=list(Clip._fields))

    def unnamed(self) -> list[str]:
        """Splits of which there is at most a number of clips, so that nothing can be compared."""
        named = set(self.index()["split"])
        if self.prepared is not None:
            return [split for split in self.prepared.attrs.get("virtual", {}) if split not in named]
        if self.planned is None:
            return []
        others = {**self.planned.numbers, **self.planned.unknown}
        return [split for split in others if split not in named]


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
    """Ask the reader which clips its lists and rules promise.

    Raises:
        StpError: there is no reader, it cannot tell, or a list is missing or damaged.
    """
    recipe = plan.recipes.prepare(name)
    module = named_modules.reader(recipe.reader)
    try:
        reader = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not module.startswith(error.name or module):
            raise
        raise StpError("there is no reader for it yet", expected=module) from None
    if not hasattr(reader, "count"):
        raise StpError("known only when it is prepared", expected="a reader with `count`")
    planned: Planned = reader.count(as_json(recipe), Lists(plan.raw_roots(plan.raw(name))))
    return planned


def rows(plan: Plan, known: ClipCounts) -> list[Row]:
    """List the splits of a dataset, with what is published and why ours differ."""
    dataset = plan.config.datasets[known.dataset]
    counted = _counted(known.planned)
    prepared = _prepared(known.prepared)
    unknown = known.planned.unknown if known.planned is not None else {}
    names = dict.fromkeys([*SPLITS, *counted, *unknown, *prepared, *dataset.subsets])
    comparable = is_published_protocol(plan, known.dataset)
    found = []
    for split in names:
        published = getattr(dataset.counts.published, split, None) if comparable else None
        declared = _declared(dataset, split)
        is_known = known.planned is not None or known.prepared is not None
        has_none = split not in {**counted, **unknown, **prepared}
        if is_known and has_none and not published and not declared:
            continue  # a dataset for tests only has no training split
        row = Row(
            known.dataset,
            dataset.releases[dataset.release].source,
            split,
            counted.get(split),
            prepared.get(split),
            published,
        )
        explained = dataset.counts.explained.get(split, "") if comparable else ""
        unexplained = bool(row.difference) and not explained
        notes = ["UNEXPLAINED"] if unexplained else []
        if row.ours is None and known.planned is None:
            notes.append(known.reason)
        elif explained or row.ours is None:
            notes.append(explained or unknown.get(split) or "not in its lists")
        if row.ours is not None and declared not in (None, row.ours) and comparable:
            notes.append(f"{plan.config.declared[known.dataset]} says {declared:,}")
        found.append(Row(**{**asdict(row), "note": "; ".join(notes), "unexplained": unexplained}))
    return found


def is_published_protocol(plan: Plan, name: str) -> bool:
    """May counts be compared with Table 1: official bytes, and nothing that the scale changes?"""
    dataset = plan.config.datasets[name]
    official = dataset.releases[dataset.release].source == "official"
    return official and not plan.config.scale.datasets.get(name)


def _declared(dataset: Dataset, split: str) -> int | None:
    """What the configuration says for estimates."""
    if split in SPLITS:
        declared: int | None = getattr(dataset.counts, split)
        return declared
    return dataset.subsets[split].clips if split in dataset.subsets else None


def _counted(planned: Planned | None) -> dict[str, int]:
    if planned is None:
        return {}
    found: dict[str, int] = {}
    for clip in planned.clips:
        found[clip.split] = found.get(clip.split, 0) + 1
    return {**found, **planned.numbers}


def _prepared(prepared: Prepared | None) -> dict[str, int]:
    if prepared is None:
        return {}
    splits = dict.fromkeys([*SPLITS, *prepared.index["split"].unique()])
    return {split: len(prepared.clips(split)) for split in splits}


def _shortened(error: StpError) -> str:
    """The problem and what to do about it, on one line."""
    remedy = f": {error.remedy}" if error.remedy else ""
    return f"{error.what}{remedy}".replace("\n", " ")
