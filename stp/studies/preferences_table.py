"""Write tables of a study of the best of several predictions: CSV, Markdown, LaTeX and HTML."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from stp.page.files import write_all
from stp.page.formats import render_grid
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan.manifest import load_manifest
from stp.studies.answer_key import BestOfKey, Source
from stp.studies.answers import Answers
from stp.studies.options import BEST_OF_FILE, LETTERS, BestOf, load_item
from stp.studies.preferences import (
    CANNOT_TELL,
    FEWEST_RATERS,
    PER_CLIP,
    SETS_ONLY,
    Tally,
    agreements,
    counts,
    positions,
)
from stp.studies.shares import RESAMPLES, Interval, Share

ABOUT = ("source", "scale", "protocol", "comparable", "study", "dataset")
COUNTED = ("raters", "questions", "answers")
ENDS = ("share", "low", "high", "wilson_low", "wilson_high", "chance", "reason")
HEADER = (*ABOUT, "group", "model", *COUNTED, "chosen", *ENDS, "won", "published", "notes")
"""Columns of the CSV file of shares; ``low`` and ``high`` are the interval of the bootstrap."""
AGREEMENT_HEADER = (*ABOUT, "metric", "convention", *COUNTED, "agreed", *ENDS, "notes")
INTERVALS = ("95 % interval", "Wilson")

PUBLISHED = (
    "the shares that the paper prints (appendix F) are lost in the text that config/suites was "
    "made from: it says only that MCVD comes first, then Earthformer, PredRNN++, TAU"
)


def render_preferences(
    key: BestOfKey, read: Answers, out: Path, *, manifest: Path | None = None
) -> None:
    """Write how often raters chose each model, and how often their choices agree with metrics.

    Each of these tables is a CSV file. Pages (.md, .tex, .html) have both tables together.

    Args:
        key: answer key of the questionnaire.
        read: all answers.
        out: path of the CSV file of the models' shares of the answers. The CSV file of agreement
            with metrics is written next to it, as ``<stem>_agreement.csv``, and so are the pages.
        manifest: path of the manifest (JSON list of the results) of the short-term table, whose
            scores are compared with the answers; None to leave out this comparison.

    Raises:
        StpError: the manifest or scores are missing or damaged; nothing is written.
    """
    counted = counts(key, read)
    agreed = agreements(key, read, None if manifest is None else load_manifest(manifest))
    write_all(
        {
            path: csv_text([header, *(_line(key, tally, header) for tally in tallies)])
            for path, header, tallies in (
                (out, HEADER, counted),
                (out.with_name(f"{out.stem}_agreement.csv"), AGREEMENT_HEADER, agreed),
            )
        }
        | render_grid(_grid(out.stem, key, read, counted, agreed), out.parent)
    )


def _line(key: BestOfKey, tally: Tally, header: Sequence[str]) -> list[object]:
    of_dataset = _sources(key, tally.dataset)
    sources = [source for source in of_dataset if source.model == tally.subject] or of_dataset
    share, is_model = tally.share, tally.subject in key.models
    ends = (*share.clustered[:2], *share.wilson[:2], tally.chance)
    values = ["" if value is None else f"{value:.6f}" for value in (share.value, *ends)]
    reasons = dict.fromkeys(filter(None, [tally.reason, share.clustered.reason]))
    kinds = {source.source for source in of_dataset} - {"official"}
    notes = [f"{_join_names(kinds)} clips"] if kinds else []
    fields = {
        "source": _join_names(source.source for source in sources),
        "scale": key.scale,
        "protocol": _join_names(source.protocol for source in sources),
        "comparable": "yes" if _is_papers(key) else "NO",
        "study": key.study,
        "dataset": key.datasets.get(tally.dataset, "all"),
        "group": tally.group,
        "model": key.models.get(tally.subject, tally.subject),
        "metric": tally.subject,
        "convention": tally.convention,
        "raters": tally.raters,
        "questions": tally.questions,
        "answers": share.answers,
        "chosen": f"{share.hits:.6g}",
        "agreed": f"{share.hits:.6g}",
        **dict(zip(ENDS, [*values, "; ".join(reasons)], strict=True)),
        "won": f"{tally.won:.6g}" if is_model else "",
        "published": "",
        "notes": "; ".join([*notes, PUBLISHED] if "published" in header else notes),
    }
    return [fields[column] for column in header]


def _join_names(names: Iterable[str]) -> str:
    return " and ".join(sorted(set(names)))


def _sources(key: BestOfKey, dataset: str) -> list[Source]:
    return [source for source in key.sources if dataset in ("", source.dataset)]


def _is_papers(key: BestOfKey) -> bool:
    if not all(source.official_paper_protocol for source in key.sources):
        return False
    papers = load_item(BestOf, BEST_OF_FILE)
    clips = dict(Counter(question.dataset for question in key.questions))
    return clips == papers.clips and sorted(key.models) == sorted(papers.models)


def _grid(
    name: str, key: BestOfKey, read: Answers, counted: list[Tally], agreed: list[Tally]
) -> Grid:
    warnings = read.warnings()
    if not _is_papers(key):
        warnings.append(
            f"NOT COMPARABLE with the study of the paper: "
            f"{_join_names(source.source for source in key.sources)} data, scale {key.scale}, "
            f"{len(key.questions)} questions, {len(key.models)} models."
        )
    return Grid(
        name=name,
        title="Human preferences",
        intro=[
            f"{len(read.raters)} raters gave {len(read.answers)} answers to the question "
            f"“{key.about.question}” about {len(key.questions)} clips. They saw predictions "
            "without names, in random order.",
            "The 95 % interval is a bootstrap over raters and questions: both are samples, and "
            "answers of one rater, or about one clip, depend on each other. Wilson's interval "
            "assumes independent answers and is too narrow; it is given for comparison.",
        ],
        warnings=warnings,
        sections=[
            *(_share_section(key, counted, dataset) for dataset in ["", *key.datasets]),
            *_group_section(key, counted),
            _agreement_section(key, agreed),
            _position_section(key, read),
        ],
        legend=_legend(key),
        made_from=f"answers to the questionnaire of study `{key.study}` by `stp study preferences`",
    )


def _section(
    title: str,
    columns: Sequence[str],
    rows: list[list[str | Item]],
    intro: str,
    *,
    notes: Iterable[str] = (),
    texts: int = 1,
) -> Section:
    numeric = [number >= texts for number in range(len(columns))]
    return Section(title, list(columns), rows, numeric, intro=[intro], notes=list(notes))


def _share_section(key: BestOfKey, counted: list[Tally], dataset: str) -> Section:
    tallies = [tally for tally in counted if tally.dataset == dataset and not tally.group]
    ranks = _ranks(tallies)
    rows: list[list[str | Item]] = []
    reasons: dict[str, None] = {}
    for tally in tallies:
        title = key.models.get(tally.subject, tally.subject)
        rows.append(
            [
                title,
                f"{tally.share.hits:.0f}",
                Item(_percent(tally.share.value), rank=ranks.get(tally.subject, 0)),
                *_intervals(tally.share),
                f"{tally.won:.3g}" if tally.subject in key.models else "",
                "",
            ]
        )
        if reason := tally.share.clustered.reason:
            subject = title if reason.startswith("no spread") else "no interval"
            reasons[f"{subject}: {reason}"] = None
    first = tallies[0]
    return _section(
        key.datasets.get(dataset, "All datasets"),
        ["Model", "Found best", "Share", *INTERVALS, "Questions won", "Paper"],
        rows,
        f"{first.raters} raters, {first.questions} questions, {first.share.answers} answers; "
        f"{_join_names(source.source for source in _sources(key, dataset))} data. Random choices "
        f"would give each model {_percent(1 / len(key.models))}.",
        notes=reasons,
    )


def _ranks(tallies: list[Tally]) -> dict[str, int]:
    """Place (1 or 2) by model, for the two best places; shared places are left out."""
    shares = {tally.subject: tally.share.hits for tally in tallies if tally.subject != CANNOT_TELL}
    models = Counter(shares.values())
    best = sorted(models, reverse=True)[:2]
    return {
        model: best.index(hits) + 1
        for model, hits in shares.items()
        if hits in best and models[hits] == 1
    }


def _group_section(key: BestOfKey, counted: list[Tally]) -> Iterable[Section]:
    subjects = dict.fromkeys(tally.subject for tally in counted)
    rows: list[list[str | Item]] = []
    for group in dict.fromkeys(tally.group for tally in counted if tally.group):
        tallies = [tally for tally in counted if tally.group == group]
        shares = (
            f"{_percent(tally.share.value)} ({_format_interval(tally.share.clustered) or '–'})"
            for tally in tallies
        )
        rows.append([group, str(tallies[0].raters), str(tallies[0].share.answers), *shares])
    if rows:
        yield _section(
            "Groups of raters",
            ["Group", "Raters", "Answers", *(key.models.get(name, name) for name in subjects)],
            rows,
            f"Groups of fewer than {FEWEST_RATERS} raters are left out, and so are others from "
            "which such a group would follow. In parentheses: 95 % interval, where there are "
            "enough raters and questions.",
        )


def _agreement_section(key: BestOfKey, agreed: list[Tally]) -> Section:
    rows: list[list[str | Item]] = [
        [
            tally.subject,
            key.datasets.get(tally.dataset, "all"),
            str(tally.questions),
            str(tally.share.answers),
            _percent(tally.share.value),
            *_intervals(tally.share),
            _percent(tally.chance),
        ]
        for tally in agreed
        if tally.share.answers or not tally.dataset
    ]
    return _section(
        "Agreement with metrics",
        ["Metric", "Dataset", "Questions", "Answers", "Agreed", *INTERVALS, "Chance"],
        rows,
        "How often raters chose the prediction of a clip that is best by a metric. “Cannot tell” "
        "does not count; where k models are equally good, an answer that names one of them "
        "counts 1/k.",
        notes=[
            f"{tally.subject}: {tally.reason}"
            for tally in agreed
            if tally.reason and not tally.dataset
        ],
        texts=2,
    )


def _position_section(key: BestOfKey, read: Answers) -> Section:
    rows: list[list[str | Item]] = [
        [LETTERS[number], f"{share.hits:.0f}", _percent(share.value), *_intervals(share)]
        for number, share in enumerate(positions(key, read))
    ]
    return _section(
        "Places on the page",
        ["Place", "Chosen", "Share", *INTERVALS],
        rows,
        "A check: models are in random order, so each place should be chosen about equally often. "
        "A place that stands out means that raters clicked without looking.",
    )


def _legend(key: BestOfKey) -> list[str]:
    lines = [
        "Found best: number of answers. Share: of all answers, “cannot tell” included.",
        "Questions won: number of questions in which no other model was chosen more often; a "
        "shared first place counts in part.",
        f"95 % interval: {RESAMPLES:,} resamples of raters and, within each dataset, of questions.",
        f"Paper: empty, since {PUBLISHED}.",
        f"FVD: {SETS_ONLY}.",
        f"Pictures: {key.pictures}. Clips were drawn with seed {key.about.seed}, without "
        "replacement, evenly over clusters (videos, trajectories).",
        *(f"{metric}: `{convention}`" for metric, convention in PER_CLIP.items()),
    ]
    seeds = sorted({source.seed for source in key.sources if source.seed is not None})
    if seeds:
        lines.append(f"Trained with seed {', '.join(map(str, seeds))}.")
    return lines


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _intervals(share: Share) -> list[str]:
    return [_format_interval(share.clustered), _format_interval(share.wilson)]


def _format_interval(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return ""
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"
