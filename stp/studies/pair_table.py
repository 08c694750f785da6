"""Write the table and the figure of the agreement of metrics with people about pairs of videos.

They correspond to Table 1 and Figure 5 of the paper on FVD.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from stp.collect.people_agreement import ALL_ANSWERS, DECIDED, HEADER, MAJORITY, RATERS, line
from stp.collect.published import read_published
from stp.collect.schema import AgreementRow
from stp.page.figure_style import COLUMN_WIDTH, new_figure, paper_size, save, styles
from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.studies.answer_key import ModelGroup, PairKey
from stp.studies.answers import SIMULATED, Answers
from stp.studies.pair_agreement import (
    CHOSEN_EQUAL,
    agreements,
    answers_by_question,
    counting_answers,
    merge_bases,
    needs_rater,
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
    key: PairKey, read: Answers, out: Path, *, published: Path | None = None
) -> None:
    """Write table and figure of how often metrics agree with raters on pairs of videos.

    Raters and a metric agree on a pair if both find the same model's video better. The table also
    says how often two raters agree with each other. It is written as .csv, .md, .tex and .html, the
    figure as .png and .svg.

    Args:
        key: answer key of the questionnaire.
        read: all answers; empty for a table of printed values only.
        out: path of the CSV file; the other files are written next to it.
        published: path of the suite's file of values that the paper prints; None for a table
            without them.

    Raises:
        StpError: the published values are missing or damaged; nothing is written.
    """
    rows = agreements(key, read, read_published(published))
    pages = render_grid(_grid(out.stem, key, read, rows), out.parent)
    _draw(key, rows, read, out.with_suffix(".png"))
    write_all({out: csv_text([HEADER, *map(line, rows)]), **pages})


def _basis(key: PairKey, read: Answers) -> str:
    if not key.models:
        return "nobody: no models were chosen, and printed values stand alone"
    simulated = sum(name.startswith(SIMULATED) for name in read.raters)
    people = len(read.raters) - simulated
    raters = f"{people} raters"
    if simulated:
        raters = f"{simulated} SIMULATED raters" + (f" and {people} people" if people else "")
    kinds = " and ".join(sorted({model.source for model in key.models.values()}))
    return (
        f"{raters}, {len(key.models)} of {key.size} models on {kinds} data: not comparable with "
        "the paper, which had other models and raters"
    )


def _grid(name: str, key: PairKey, read: Answers, rows: list[AgreementRow]) -> Grid:
    by_question = answers_by_question(key, read).values()
    needs = [needs_rater(answers) for answers in by_question]
    second, third = needs.count("second"), needs.count("third")
    beyond = len(read.answers) - sum(len(counting_answers(answers)) for answers in by_question)
    warnings = read.warnings()
    if third or second:
        warnings.append(
            f"Answers are missing: {second} pairs of videos have fewer than two, and the first two "
            f"raters disagree on {third}, which need a third one "
            "(`stp study questionnaire --after`)."
        )
    conventions = {measure.convention for measure in key.about.metrics.values()}
    if random := sorted(name for name in conventions if ".random_" in name):
        warnings.append(
            f"WARNING: networks with random weights have learnt nothing: {', '.join(random)} say "
            "nothing about the metric that they replace."
        )
    legend = [
        "eq.: models of about equal values in a metric, near its best quartile. spr.: models whose "
        "values are equidistant between the 10th and the 90th percentile.",
        "A video is compared with that of the other model for the same clip. Each pair was shown "
        "to two raters, and to a third one where these disagree; "
        f"{beyond} answers beyond these do not count.",
        f"{RATERS}: pairs of videos that the first two raters judge alike, of all with two "
        "answers; “indistinguishable” twice is alike.",
        "95 % interval: bootstrap over pairs of models and raters; where a number is not of "
        "single raters, over pairs of models. Pairs that share a model are taken as independent, "
        "so intervals are rather too narrow.",
        "The paper does not say how Table 1 counts “indistinguishable”, nor whether it counts "
        "answers or majorities: its values stand beside the answers that name a video.",
        PRINTED_COMPARISONS,
    ]
    made_from = "printed values"
    if key.models:
        made_from = f"answers to the questionnaire of study `{key.study}`"
        legend.append(
            f"Models were chosen from `{key.population}`, with seed {key.about.seed}. Pictures: "
            f"{key.pictures}."
        )
    sections = [_table1(key, rows, counting) for counting in COUNTED] + [_figure5(key, rows)]
    return Grid(
        name=name,
        title="Agreement of metrics with people",
        intro=[
            f"People were shown two videos and asked: “{key.about.question}” Here is how often "
            "they and a metric agree on which of the two models is better, in percent, with the "
            "95 % interval in brackets and the printed value in parentheses.",
            f"Numbers are of {_basis(key, read)}.",
        ],
        sections=[section for section in sections if section.rows],
        warnings=warnings,
        legend=[
            *legend,
            *(f"{name}: `{measure.convention}`" for name, measure in key.about.metrics.items()),
        ],
        made_from=f"Made from {made_from} by `stp study preferences`.",
    )


def _table1(key: PairKey, rows: Iterable[AgreementRow], counting: str) -> Section:
    scenarios = [scenario for scenario in key.scenarios if scenario.kind != "gap"]
    of_cell = {
        (row.metric, row.scenario): row
        for row in rows
        if row.counting == counting or (row.metric == RATERS and counting == DECIDED)
    }
    lines: list[list[str | Item]] = []
    for metric in [*key.about.metrics, RATERS]:
        cells = [of_cell.get((metric, scenario.name)) for scenario in scenarios]
        if any(cells):
            lines.append([metric, *map(_item, cells)])
    reasons = {
        f"{row.metric}, {row.scenario}: {row.reason}": None
        for row in of_cell.values()
        if row.kind != "gap" and row.value is None and row.reason != CHOSEN_EQUAL
    }
    return Section(
        title=f"Table 1, {counting}",
        columns=["metric", *(scenario.name for scenario in scenarios)],
        rows=lines if scenarios else [],
        numeric=[False, *[True] * len(scenarios)],
        intro=[f"Percent {COUNTED[counting]}."],
        notes=[*map(_describe_scenario, scenarios), *reasons] if counting == DECIDED else [],
    )


def _describe_scenario(scenario: ModelGroup) -> str:
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


def _figure5(key: PairKey, rows: Sequence[AgreementRow]) -> Section:
    scenarios = [scenario for scenario in key.scenarios if scenario.kind == "gap"]
    of_point = {(row.scenario, row.counting): row for row in rows if row.kind == "gap"}
    lines: list[list[str | Item]] = []
    points = [(scenario, [scenario]) for scenario in scenarios]
    for scenario, parts in [*points, *merge_bases(scenarios)]:
        row = of_point[scenario.name, ALL_ANSWERS]
        others = sum(max(0, len(part.models) - 1) for part in parts)
        error = f"{_standard_error(row):.1f}" if row.answers else "–"
        decided = _item(of_point[scenario.name, DECIDED])
        reason = scenario.reason or row.reason or ""
        numbers = map(str, (others, row.comparisons, row.answers))
        lines.append([scenario.name, *numbers, _item(row), error, decided, reason])
    metric = scenarios[0].metric if scenarios else ""
    return Section(
        title="Figure 5: how small a difference people see",
        columns=["case", "models", "videos", "answers", "all", "± SE", "decided", "note"],
        rows=lines,
        numeric=[False, *[True] * 6, False],
        intro=[
            f"Percent of answers that find the base better, as {metric} does; all: "
            "“indistinguishable” is disagreement, as in the paper; decided: without these answers. "
            "The paper shows a figure without numbers."
        ],
        notes=[
            "± SE: standard error of “all”, as the paper's error bars; it takes answers as "
            "independent, so it is too small. An interval over pairs of models needs ten, which "
            "the bases of a step have together (our addition).",
            PRINTED_COMPARISONS,
        ],
    )


def _standard_error(row: AgreementRow) -> float:
    share = (row.value or 0) / 100
    return 100 * float(np.sqrt(share * (1 - share) / row.answers)) if row.answers else 0.0


def _draw(key: PairKey, rows: Sequence[AgreementRow], read: Answers, out: Path) -> None:
    of_point = {row.scenario: row for row in rows if row.counting == ALL_ANSWERS}
    gaps = [scenario for scenario in key.scenarios if scenario.kind == "gap"]
    bases = list(dict.fromkeys(gap.base for gap in gaps if gap.base is not None))
    looks = styles([f"{base:g}" for base in bases])
    with paper_size():
        figure = new_figure(COLUMN_WIDTH, 2.4)
        axes = figure.subplots()
        for base in bases:
            look = looks[f"{base:g}"]
            points = [
                (scenario.step, row.value, _standard_error(row))
                for scenario in gaps
                if scenario.base == base and (row := of_point[scenario.name]).value is not None
            ]
            steps, values, errors = np.array(points, np.float64).reshape(-1, 3).T
            axes.errorbar(
                steps, values, errors, label=f"base {base:g}", elinewidth=0.8, capsize=2,
                color=look.colour, linestyle=look.line, marker=look.marker,
            )  # fmt: skip
        axes.axhline(50, color="#999999", linewidth=0.6, linestyle=":")
        axes.set_ylim(0, 105)
        metric = gaps[0].metric if gaps else ""
        axes.set_xlabel(f"difference in {metric}" if metric else "no differences were asked about")
        axes.set_ylabel("agreement (%)")
        if bases:
            figure.legend(loc="outside lower center", ncols=2)
        save(figure, out, _basis(key, read))
