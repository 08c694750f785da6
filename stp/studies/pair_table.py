"""Write how often metrics agree with people: Table 1 and Figure 5 of the paper on FVD."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from stp.collect.people_agreement import (
    ALL_ANSWERS,
    DECIDED,
    HEADER,
    MAJORITY,
    RATERS,
    line,
)
from stp.collect.published import read_published
from stp.collect.schema import AgreementRow
from stp.core.disk import beside
from stp.page.figure_style import COLUMN_WIDTH, new_figure, paper_size, save, styles
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.studies.answer_key import PairKey, Scenario
from stp.studies.answers import SIMULATED, Answers, read_answers
from stp.studies.pair_agreement import (
    CHOSEN_EQUAL,
    agreements,
    asked_of,
    counted,
    needs_rater,
    over_bases,
)

COUNTED = {
    DECIDED: "of the answers that name a video; half of them agree by chance",
    ALL_ANSWERS: "of all answers; “indistinguishable” is disagreement",
    MAJORITY: "of the pairs of videos of which two raters name the same",
}
PRINTED_COMPARISONS = (
    "The paper counts 1,800 comparisons for Figure 5. That does not follow from its numbers: two "
    "bases, eight steps, five models and three videos are 240 pairs of videos, with at most 720 "
    "answers; and 1,800 cannot be divided into 16 equal cases."
)


def render_agreement(
    answers: Sequence[Path],
    key: PairKey,
    key_path: Path,
    out: Path,
    *,
    published: Path | None = None,
) -> Answers:
    """Write ``<name>.csv``, and beside it .md, .tex, .html, and the figure as .png and .svg.

    Args:
        answers: files of answers, or folders of them; none: there are printed values alone.
        key: of the questionnaire.
        key_path: its path, for messages.
        out: path of the CSV file.
        published: the printed values of the suite; none unless given.

    Returns:
        what was read.

    Raises:
        StpError: a file is missing or damaged, or answers do not belong to the questionnaire;
            nothing is written.
    """
    read = read_answers(answers, key, key_path) if answers else Answers({}, [])
    rows = agreements(key, read, read_published(published))
    pages = texts(_grid(out.stem, key, read, rows), out.parent)
    with ExitStack() as stack:  # unwinds from the last to the first: the CSV stands for all
        for path, text in {out: csv_text([HEADER, *map(line, rows)]), **pages}.items():
            temporary = stack.enter_context(beside(path))
            temporary.write_text(text, encoding="utf-8", newline="\n")
        _draw(key, rows, read, out.with_suffix(".png"))
    return read


def _whose(key: PairKey, read: Answers) -> str:
    """Say what the numbers rest on."""
    programs = sum(name.startswith(SIMULATED) for name in read.raters)
    raters = f"{len(read.raters)} raters"
    if programs:
        raters = f"{programs} SIMULATED raters" + (
            f" and {len(read.raters) - programs} people" if programs < len(read.raters) else ""
        )
    kinds = sorted({model.source for model in key.models.values()})
    if not key.models:
        return "nobody: no models were chosen, and printed values stand alone"
    return (
        f"{raters}, {len(key.models)} of {key.size} models on {' and '.join(kinds)} bytes: not "
        "comparable with the paper, whose models and raters were others"
    )


def _grid(name: str, key: PairKey, read: Answers, rows: list[AgreementRow]) -> Grid:
    given = asked_of(key, read)
    third = sum(needs_rater(own) == "third" for own in given.values())
    second = sum(needs_rater(own) == "second" for own in given.values())
    beyond = len(read.answers) - sum(len(counted(own)) for own in given.values())
    warnings = read.warnings()
    if third or second:
        warnings.append(
            f"Not all answers are there: {second} pairs of videos have fewer than two, and the "
            f"first two raters disagree on {third}, which a third one is to be asked about "
            "(`stp study questionnaire --after`)."
        )
    random = sorted(
        {one.convention for one in key.about.metrics.values() if ".random_" in one.convention}
    )
    if random:
        warnings.append(
            f"WARNING: networks with random weights have learnt nothing: {', '.join(random)} say "
            "nothing about the metric that they stand for."
        )
    sections = [
        _table1(key, rows, counting) for counting in (DECIDED, ALL_ANSWERS, MAJORITY)
    ] + _figure5(key, rows)
    return Grid(
        name=name,
        title="Agreement of metrics with people",
        intro=[
            f"People were shown two videos and asked: “{key.about.question}” Here is how often "
            "they and a metric agree on which of the two models is better, in percent, with the "
            "95 % interval in brackets and the printed value in parentheses.",
            f"Numbers are of {_whose(key, read)}.",
        ],
        sections=[section for section in sections if section.rows],
        warnings=warnings,
        legend=[
            "eq.: models of about equal values in a metric, near its best quartile. spr.: models "
            "whose values are equidistant between the 10th and the 90th percentile.",
            "A video is compared with that of the other model for the same clip. Each pair was "
            "shown to two raters, and to a third one where these disagree; "
            f"{beyond} answers beyond these do not count.",
            f"{RATERS}: pairs of videos that the first two raters judge alike, of all with two "
            "answers; “indistinguishable” twice is alike.",
            "95 % interval: bootstrap over pairs of models and raters; where a number is not of "
            "single raters, over pairs of models. Pairs that share a model are taken as "
            "independent, so intervals are rather too narrow.",
            "The paper does not say how Table 1 counts “indistinguishable”, nor whether it counts "
            "answers or majorities: its values stand beside the answers that name a video.",
            PRINTED_COMPARISONS,
            *(
                [
                    f"Models were chosen from `{key.population}`, with seed {key.about.seed}. "
                    f"Pictures: {key.pictures}."
                ]
                if key.models
                else []
            ),
            *(f"{heading}: `{one.convention}`" for heading, one in key.about.metrics.items()),
        ],
        made_from=(
            f"Made from answers to study `{key.study}` by `stp study preferences`."
            if key.study
            else "Made from printed values by `stp study preferences`."
        ),
    )


def _table1(key: PairKey, rows: Iterable[AgreementRow], counting: str) -> Section:
    scenarios = [one for one in key.scenarios if one.kind != "gap"]
    found = {
        (row.metric, row.scenario): row
        for row in rows
        if row.counting == counting or (row.metric == RATERS and counting == DECIDED)
    }
    lines: list[list[str | Item]] = []
    for metric in [*key.about.metrics, RATERS]:
        own = [found.get((metric, one.name)) for one in scenarios]
        if any(row is not None for row in own):
            lines.append([metric, *(_item(row) for row in own)])
    notes = [_about(one) for one in scenarios]
    reasons = {
        f"{row.metric}, {row.scenario}: {row.reason}": None
        for row in found.values()
        if row.kind != "gap" and row.value is None and row.reason != CHOSEN_EQUAL
    }
    return Section(
        title=f"Table 1, {counting}",
        columns=["metric", *(one.name for one in scenarios)],
        rows=lines if scenarios else [],
        numeric=[False, *[True] * len(scenarios)],
        intro=[f"Percent {COUNTED[counting]}."],
        notes=[*notes, *reasons] if counting == DECIDED else [],
    )


def _about(scenario: Scenario) -> str:
    if not scenario.models or scenario.low is None or scenario.high is None:
        return f"{scenario.name}: {scenario.reason}"
    text = f"{scenario.name}: {len(scenario.models)} models of {scenario.metric} "
    text += f"{scenario.low:.5g} to {scenario.high:.5g}"
    return f"{text}; {scenario.reason}" if scenario.reason else text


def _item(row: AgreementRow | None) -> str | Item:
    if row is None:
        return ""
    text = "–" if row.value is None else f"{row.value:.1f}"
    if row.ci95_low is not None and row.ci95_high is not None:
        text += f" [{row.ci95_low:.0f}, {row.ci95_high:.0f}]"
    return Item(text, aside="" if row.published is None else f"{row.published:.1f}")


def _figure5(key: PairKey, rows: Sequence[AgreementRow]) -> list[Section]:
    scenarios = [one for one in key.scenarios if one.kind == "gap"]
    found = {(row.scenario, row.counting): row for row in rows if row.kind == "gap"}
    lines: list[list[str | Item]] = []
    for one, its in [*((one, [one]) for one in scenarios), *over_bases(scenarios)]:
        row = found[one.name, ALL_ANSWERS]
        decided = found[one.name, DECIDED]
        others = sum(max(0, len(point.models) - 1) for point in its)
        lines.append(
            [one.name, str(others), str(row.comparisons), str(row.answers),
             _item(row), f"{_standard_error(row):.1f}" if row.answers else "–", _item(decided),
             one.reason or row.reason or ""]
        )  # fmt: skip
    return [
        Section(
            title="Figure 5: how small a difference people see",
            columns=["case", "models", "videos", "answers", "all", "± SE", "decided", "note"],
            rows=lines,
            numeric=[False, True, True, True, True, True, True, False],
            intro=[
                f"Percent of answers that find the base better, as {scenarios[0].metric} does; "
                "all: “indistinguishable” is disagreement, as in the paper; decided: without "
                "these answers. The paper shows a figure without numbers."
            ]
            if scenarios
            else [],
            notes=[
                "± SE: standard error of “all”, as the paper's error bars; it takes answers as "
                "independent, so it is too small. An interval over pairs of models needs ten, "
                "which the bases of a step have together (our addition).",
                PRINTED_COMPARISONS,
            ],
        )
    ]


def _standard_error(row: AgreementRow) -> float:
    """Of a share of independent answers, in percent."""
    share = (row.value or 0) / 100
    return 100 * float(np.sqrt(share * (1 - share) / row.answers)) if row.answers else 0.0


def _draw(key: PairKey, rows: Sequence[AgreementRow], read: Answers, out: Path) -> None:
    """Draw agreement over the difference, a line for each base, with standard errors."""
    found = {row.scenario: row for row in rows if row.kind == "gap" and row.counting == ALL_ANSWERS}
    bases = list(dict.fromkeys(one.base for one in key.scenarios if one.base is not None))
    looks = styles([f"{base:g}" for base in bases])
    with paper_size():
        figure = new_figure(COLUMN_WIDTH, 2.4)
        axes = figure.subplots()
        for base in bases:
            look = looks[f"{base:g}"]
            own = [
                (one.step, found[one.name])
                for one in key.scenarios
                if one.base == base and one.step is not None and found[one.name].value is not None
            ]
            steps = np.array([step for step, _ in own])
            value = np.array([row.value for _, row in own], np.float64)
            errors = np.array([_standard_error(row) for _, row in own], np.float64)
            axes.errorbar(
                steps, value, errors, label=f"base {base:g}", elinewidth=0.8, capsize=2,
                color=look.colour, linestyle=look.line, marker=look.marker,
            )  # fmt: skip
        axes.axhline(50, color="#999999", linewidth=0.6, linestyle=":")
        axes.set_ylim(0, 105)
        metric = next((one.metric for one in key.scenarios if one.kind == "gap"), "")
        axes.set_xlabel(f"difference in {metric}" if metric else "no differences were asked about")
        axes.set_ylabel("agreement (%)")
        if bases:
            figure.legend(loc="outside lower center", ncols=2)
        save(figure, out, _whose(key, read))
