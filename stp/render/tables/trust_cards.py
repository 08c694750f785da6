"""Table of the trust cards of all metrics of a distortion study, a row for each metric.

A trust card says which distortions of clips a metric follows and which it does not notice, how
biased it is, and what it costs.
"""

from pathlib import Path
from typing import NamedTuple

from stp.collect.people_agreement import TABLE, read_agreements, with_people
from stp.collect.trust_card import OfDataset, cards
from stp.page.commands import trust_command
from stp.page.grid import Item, Section
from stp.plan.manifest import Manifest, load_manifest
from stp.render.tables.distortion_study import WHERE, cells_of, origin_columns, write_study

HEADER = (
    *WHERE,
    *("metric", "follows_space", "of_space", "follows_time", "of_time", "blind_to"),
    *("clips", "hidden_below", "seconds_per_clip", "agreement_with_people", "why"),
)
"""Columns of the CSV file."""


class Card(NamedTuple):
    """The trust card of a metric on one dataset: which distortions it follows, its bias, its cost.

    Attributes:
        dataset: name of the dataset.
        convention: name of the metric's exact definition.
        of: what was measured: values by distortion and intensity, bias, and run time.
        people: share of people's answers that agree with the metric, in per cent, from a study in
            which they chose the better of two videos; None if unknown.
        why_no_people: reason why `people` is unknown; else empty.
    """

    dataset: str
    convention: str
    of: OfDataset
    people: float | None
    why_no_people: str

    @property
    def blind(self) -> list[str]:
        """Distortions that the metric does not notice: its value is the same at all intensities."""
        return [*self.of.blind_to(temporal=False), *self.of.blind_to(temporal=True)]

    @property
    def hidden_below(self) -> float | None:
        """Largest distance between sets of clips that may be due to chance.

        It is the mean distance between halves of the real clips, plus two standard deviations.
        None for metrics that are means over clips, not distances between sets.
        """
        least = self.of.between_halves
        return None if least is None else least.mean + 2 * least.deviation

    @property
    def why(self) -> str:
        """Reason why the card has no results; empty if it has some."""
        if any(curve.correlation is not None for curve in self.of.curves) or self.blind:
            return ""
        return self.of.curves[0].why


def render_trust_cards(manifest: Path, out: Path) -> None:
    """Write the table of trust cards (what each metric notices) as .csv, .md, .tex and .html.

    Args:
        manifest: path of the manifest (JSON), the part of the plan that the distortion study is
            made from.
        out: path of the CSV file. Agreement with people is read from
            ``agreement_with_people.csv`` in the same folder, which `stp study preferences` writes;
            without this file, it is unknown.

    Raises:
        StpError: the manifest or scores are missing, or a file is damaged.
    """
    plan = load_manifest(manifest)
    people = read_agreements(out.with_name(f"{TABLE}.csv"))
    all_cards = [
        Card(dataset, convention, card_of_dataset, *with_people(people, convention))
        for convention, by_dataset in cards(plan).items()
        for dataset, card_of_dataset in by_dataset.items()
    ]
    cells = cells_of(plan)
    rows = [
        [*origin_columns(plan, cells[card.dataset]), card.convention,
         len(card.of.follows(temporal=False)), card.of.number(temporal=False),
         len(card.of.follows(temporal=True)), card.of.number(temporal=True), " ".join(card.blind),
         card.of.curves[0].n, card.hidden_below, card.of.seconds, card.people,
         card.why or card.why_no_people]
        for card in all_cards
    ]  # fmt: skip
    write_study(
        plan, out, HEADER, rows, _sections(plan, all_cards),
        title="Trust cards of metrics",
        intro=[
            "What each metric can be trusted for. space, time: the number of distortions of frames "
            "and of their order with which it significantly gets worse (the interval of its rank "
            "correlation with the intensity is above 0; below 0 for switching, whose intensity is "
            "the number of frames before the switch). blind to: distortions at all of whose "
            "intensities it has the same value.",
            "hidden below: differences between distances of sets that half of the clips cannot "
            "show; means over clips have no such bias. s per clip: time of the network.",
            "people: share of people's answers about pairs of videos that agree with the metric, "
            f"where models are spread in its values; {_explain_unknown(all_cards)}. A full card: "
            f"`{trust_command(plan.scale, plan.dimension, all_cards[0].convention)}`.",
        ],
        conventions=(card.convention for card in all_cards),
        made_from="scores and features of distorted clips",
    )  # fmt: skip


def _sections(plan: Manifest, all_cards: list[Card]) -> list[Section]:
    sections = []
    for dataset in dict.fromkeys(card.dataset for card in all_cards):
        rows: list[list[str | Item]] = []
        notes = []
        for card in filter(lambda card: card.dataset == dataset, all_cards):
            if card.why:
                notes.append(f"{card.convention}: {card.why}")
                rows.append([card.convention, *["–"] * 6])
                continue
            hidden, seconds = card.hidden_below, card.of.seconds
            rows.append(
                [
                    card.convention,
                    f"{len(card.of.follows(temporal=False))} of {card.of.number(temporal=False)}",
                    f"{len(card.of.follows(temporal=True))} of {card.of.number(temporal=True)}",
                    ", ".join(plan.names.models[name] for name in card.blind) or "none",
                    "none" if hidden is None else f"{hidden:.4g}",
                    "none" if seconds is None else f"{seconds:.2g}",
                    "unknown" if card.people is None else f"{card.people:.0f} %",
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
    return sections


def _explain_unknown(all_cards: list[Card]) -> str:
    reasons = dict.fromkeys(card.why_no_people for card in all_cards if card.people is None)
    return f"unknown where {'; '.join(reasons)}" if reasons else "all are known"
