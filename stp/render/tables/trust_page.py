"""Page with the trust card of a metric: ``stp list metrics``.

A trust card says which distortions of clips a metric follows and which it does not notice, how
biased it is, and what it costs.
"""

from collections.abc import Iterable

from stp.collect.people_agreement import ALL_ANSWERS, DECIDED, UNKNOWN
from stp.collect.schema import AgreementRow
from stp.collect.trust_card import OfDataset, is_temporal, is_weakening
from stp.page.figure_style import origin_note
from stp.page.grid import Grid, Item, Section
from stp.plan.manifest import Manifest


def page(
    plan: Manifest,
    convention: str,
    of_datasets: dict[str, OfDataset],
    people: Iterable[AgreementRow] = (),
) -> Grid:
    """Lay out the trust card of a metric (what it notices, its bias and cost) for readers.

    Args:
        plan: manifest of the study of distortions from which the card was made.
        convention: exact definition of the metric, such as ``ssim.range2``.
        of_datasets: trust card of the metric for each dataset, by name of the dataset, from
            `stp.collect.trust_card.cards_by_dataset`.
        people: agreement of metrics with people, from `stp.collect.people_agreement`. Rows of other
            metrics are ignored. Without rows of this metric, the page says that its agreement is
            unknown.
    """
    sections = []
    people_section = _people(convention, people)
    for dataset, of_dataset in of_datasets.items():
        title = plan.names.datasets[dataset]
        sections.append(_sensitivity(plan, title, of_dataset))
        if of_dataset.bias:
            sections.append(_bias(title, of_dataset))
    facts = plan.conventions[convention]
    warnings = []
    if ".random_" in convention:
        warnings = ["WARNING: this network has random weights and has learnt nothing."]
    return Grid(
        name=convention,
        title=f"Trust card of {convention}",
        intro=[
            f"{facts.title}: {facts.description}",
            f"Numbers are of {origin_note(plan.cells)}.",
            *(() if people_section.rows else (f"Agreement with people is unknown: {UNKNOWN}.",)),
        ],
        sections=[*sections, people_section] if people_section.rows else sections,
        warnings=warnings,
        legend=[
            "correlation: rank correlation with the intensity; 1: the metric gets worse with every "
            "step, whichever direction is better; in brackets its 95 % interval over clusters of "
            "clips",
            "kind: frames are changed (space), or their order is (time)",
        ],
        made_from=f"Made from the scores of {plan.dimension}, scale {plan.scale}.",
    )


def _people(convention: str, people: Iterable[AgreementRow]) -> Section:
    """Make a section on agreement with people in each scenario; empty without a human study."""
    rows: list[list[str | Item]] = []
    notes: dict[str, None] = {}
    for row in people:
        is_shown = row.counting == (ALL_ANSWERS if row.kind == "gap" else DECIDED)
        if row.convention != convention or not is_shown or row.value is None:
            continue
        value = f"{row.value:.1f}"
        if row.ci95_low is not None and row.ci95_high is not None:
            value += f" [{row.ci95_low:.0f}, {row.ci95_high:.0f}]"
        rows.append([row.scenario, value, str(row.answers), str(row.raters)])
        if row.simulated:
            notes["WARNING: the raters are SIMULATED by a program; no person was asked"] = None
    return Section(
        title="Agreement with people",
        columns=["scenario", "percent", "answers", "raters"],
        rows=rows,
        numeric=[False, True, True, True],
        intro=["How often people and the metric agree on which of two videos is better."],
        notes=[
            *notes,
            "eq., spr.: of the answers that name a video, for models equal or spread in a metric; "
            "base + step: of all answers, where the second model is worse by the step",
        ],
    )


def _sensitivity(plan: Manifest, title: str, of_dataset: OfDataset) -> Section:
    rows: list[list[str | Item]] = []
    for curve in of_dataset.curves:
        correlation = "–" if curve.correlation is None else f"{curve.correlation:.2f}"
        if curve.low is not None and curve.high is not None:
            correlation += f" [{curve.low:.2f}, {curve.high:.2f}]"
        ends = [curve.values[0], curve.values[-1]]
        if is_weakening(curve):
            ends.reverse()
        values = ["–" if v is None else f"{v:.4g}" for v in ends]
        kind = "time" if is_temporal(curve) else "space"
        rows.append([plan.names.models[curve.distortion], kind, correlation, *values, curve.why])
    notes = [
        _distortion_text(plan, of_dataset, temporal=True),
        _distortion_text(plan, of_dataset, temporal=False),
    ]
    if of_dataset.seconds is not None:
        notes.append(
            f"cost: its network took {of_dataset.seconds:.2g} s per clip on the machine that ran it"
        )
    return Section(
        title=f"{title}, {of_dataset.curves[0].n} clips",
        columns=["distortion", "kind", "correlation", "weakest", "strongest", "why"],
        rows=rows,
        numeric=[False, False, True, True, True, False],
        notes=[note for note in notes if note],
    )


def _distortion_text(plan: Manifest, of_dataset: OfDataset, *, temporal: bool) -> str:
    """Describe how many distortions of a kind a metric follows, and which ones it misses."""
    number = sum(is_temporal(curve) == temporal for curve in of_dataset.curves)
    if not number:
        return ""
    follows, blind = of_dataset.follows(temporal=temporal), of_dataset.blind_to(temporal=temporal)
    titles = [plan.names.models[name] for name in blind]
    text = f"{'time' if temporal else 'space'}: follows {len(follows)} of {number} surely"
    return f"{text}; blind to {', '.join(titles)}" if titles else text


def _bias(title: str, of_dataset: OfDataset) -> Section:
    rows: list[list[str | Item]] = [
        [str(at_size.n), f"{at_size.mean:.4g}", f"{at_size.standard_error:.2g}", str(at_size.tries)]
        for at_size in of_dataset.bias
    ]
    notes = ["real clips against other real clips: all of the distance is bias"]
    if of_dataset.between_halves is not None:
        least = of_dataset.between_halves.mean + 2 * of_dataset.between_halves.deviation
        notes.append(
            f"differences below {least:.4g} cannot be seen with {of_dataset.between_halves.n} clips"
        )
    return Section(
        title=f"{title}: bias by the number of clips",
        columns=["clips of each", "mean", "standard error", "tries"],
        rows=rows,
        numeric=[True] * 4,
        notes=notes,
    )
