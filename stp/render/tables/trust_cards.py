"""Write the trust cards of all metrics of a study in one table: a row for each."""

from pathlib import Path
from typing import NamedTuple

from stp.collect.people_agreement import TABLE, read_agreements, with_people
from stp.collect.trust_card import OfDataset, cards
from stp.page.commands import table_command, trust_command
from stp.page.grid import Grid, Item, Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import WHERE, cells_of, of_whom, warnings, where, write

HEADER = (
    *WHERE,
    *("metric", "follows_space", "of_space", "follows_time", "of_time", "blind_to"),
    *("clips", "hidden_below", "seconds_per_clip", "agreement_with_people", "why"),
)
"""Columns of the CSV file."""


class Card(NamedTuple):
    """What is known of a metric on one dataset, in short."""

    dataset: str
    convention: str
    of: OfDataset
    people: float | None
    why_no_people: str

    @property
    def blind(self) -> list[str]:
        """Distortions that it does not see at all."""
        return [*self.of.blind_to(temporal=False), *self.of.blind_to(temporal=True)]

    @property
    def hidden_below(self) -> float | None:
        """What a difference has to exceed to be seen with half of the clips."""
        least = self.of.smallest
        return None if least is None else least.mean + 2 * least.deviation

    @property
    def why(self) -> str:
        """Why nothing is known; empty if something is."""
        if any(curve.correlation is not None for curve in self.of.curves) or self.blind:
            return ""
        return self.of.curves[0].why


def render_trust_cards(manifest: Path, out: Path) -> None:
    """Write ``<name>.csv``, and beside it .md, .tex and .html.

    Args:
        manifest: of the dimension whose models are distortions.
        out: path of the CSV file. Agreement with people is read from the table in its folder.

    Raises:
        StpError: a file is missing or damaged.
    """
    plan = load_manifest(manifest)
    people = read_agreements(out.with_name(f"{TABLE}.csv"))
    found = [
        Card(dataset, convention, of, *with_people(people, convention))
        for convention, own in cards(plan).items()
        for dataset, of in own.items()
    ]
    cells = cells_of(plan)
    rows = [
        [*where(plan, cells[one.dataset]), one.convention,
         len(one.of.follows(temporal=False)), one.of.number(temporal=False),
         len(one.of.follows(temporal=True)), one.of.number(temporal=True), " ".join(one.blind),
         one.of.curves[0].n, one.hidden_below, one.of.seconds, one.people,
         one.why or one.why_no_people]
        for one in found
    ]  # fmt: skip
    write(out, HEADER, rows, _grid(plan, found, out.stem))


def _grid(plan: Manifest, found: list[Card], name: str) -> Grid:
    sections = []
    for dataset in dict.fromkeys(one.dataset for one in found):
        rows: list[list[str | Item]] = []
        notes = []
        for one in (card for card in found if card.dataset == dataset):
            if one.why:
                notes.append(f"{one.convention}: {one.why}")
                rows.append([one.convention, *["–"] * 6])
                continue
            hidden, seconds = one.hidden_below, one.of.seconds
            rows.append(
                [
                    one.convention,
                    f"{len(one.of.follows(temporal=False))} of {one.of.number(temporal=False)}",
                    f"{len(one.of.follows(temporal=True))} of {one.of.number(temporal=True)}",
                    ", ".join(plan.names.models[name] for name in one.blind) or "none",
                    "none" if hidden is None else f"{hidden:.4g}",
                    "none" if seconds is None else f"{seconds:.2g}",
                    "unknown" if one.people is None else f"{one.people:.0f} %",
                ]
            )
        sections.append(
            Section(
                title=plan.names.datasets[dataset],
                columns=[
                    *("metric", "space", "time", "blind to", "hidden below", "s per clip"),
                    "people",
                ],
                rows=rows,
                numeric=[False, True, True, False, True, True, True],
                notes=notes,
            )
        )
    return Grid(
        name=name,
        title=f"Trust cards of metrics, scale {plan.scale}",
        intro=[
            "What each metric can be trusted for. space, time: how many distortions of frames, and "
            "of their order, it surely gets worse with (the interval of its rank correlation with "
            "the intensity is above 0; for switching, whose intensity is the number of frames "
            "before it, below 0). blind to: it has the same value at all intensities.",
            "hidden below: differences of distances between sets that half of the clips cannot "
            "show; means over clips have no such bias. s per clip: what the network took.",
            "people: share of their answers about pairs of videos that agree with it, where models "
            f"are spread in its own values; {_unknown(found)}. One card in full: "
            f"`{trust_command(plan.scale, plan.dimension, found[0].convention)}`.",
            of_whom(plan),
        ],
        sections=sections,
        warnings=warnings(sorted({one.convention for one in found})),
        legend=[
            f"`{convention}`: {plan.conventions[convention].description}"
            for convention in dict.fromkeys(one.convention for one in found)
        ],
        made_from="Made from scores and features of distorted clips by "
        f"`{table_command(plan.scale, name)}`.",
    )


def _unknown(found: list[Card]) -> str:
    reasons = dict.fromkeys(card.why_no_people for card in found if card.people is None)
    return f"unknown where {'; '.join(reasons)}" if reasons else "all are known"
