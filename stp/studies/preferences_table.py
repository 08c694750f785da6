"""Write what raters preferred: CSV, and for people Markdown, LaTeX and HTML."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stp.page.files import write_all
from stp.page.formats import texts
from stp.page.grid import Grid, Item, Section
from stp.page.safe_text import csv_text
from stp.plan.manifest import load_manifest
from stp.studies.answer_key import BestOfKey, Source, load_key
from stp.studies.answers import Answers, read_answers
from stp.studies.options import BEST_OF_FILE, LETTERS, BestOf, load_item
from stp.studies.preferences import (
    CANNOT_TELL,
    FEWEST_RATERS,
    PER_CLIP,
    SETS_ONLY,
    Agreement,
    Count,
    agreements,
    counts,
    places,
)
from stp.studies.shares import RESAMPLES, Interval, Share

ABOUT = ("source", "scale", "protocol", "comparable", "study", "dataset")
SHARE = ("raters", "questions", "answers")
ENDS = ("share", "low", "high", "wilson_low", "wilson_high", "chance", "reason")
HEADER = (*ABOUT, "group", "model", *SHARE, "chosen", *ENDS, "won", "published", "notes")
"""Columns of the CSV of shares; ``low`` and ``high`` are the bootstrap's, over raters and
questions."""
AGREEMENT_HEADER = (*ABOUT, "metric", "convention", *SHARE, "agreed", *ENDS, "notes")
INTERVALS = ("95 % interval", "Wilson")

PUBLISHED = (
    "the shares that the paper prints (appendix F) are lost in the text that config/suites was "
    "made from: it says only that MCVD comes first, then Earthformer, PredRNN++, TAU"
)


def render_preferences(
    paths: Sequence[Path], key_path: Path, out: Path, *, manifest: Path | None = None
) -> Answers:
    """Write ``<name>.csv``, ``<name>_agreement.csv``, and ``<name>`` as .md, .tex and .html.

    Args:
        paths: files of answers, or folders of them.
        key_path: the key of the questionnaire.
        out: path of the CSV of shares.
        manifest: of short_term: its scores are compared with the answers.

    Returns:
        what was read.

    Raises:
        StpError: a file is missing or damaged, or answers do not belong to the questionnaire;
            nothing is written.
    """
    key = load_key(key_path, BestOfKey)
    read = read_answers(paths, key, key_path)
    counted = counts(key, read)
    agreed = agreements(key, read, None if manifest is None else load_manifest(manifest))
    grid = _grid(out.stem, key, read, counted, agreed)
    write_all(
        {
            out: csv_text([HEADER, *_count_lines(key, counted)]),
            out.with_name(f"{out.stem}_agreement.csv"): csv_text(
                [AGREEMENT_HEADER, *_agreement_lines(key, agreed)]
            ),
            **texts(grid, out.parent),
        }
    )
    return read


def _count_lines(key: BestOfKey, counted: list[Count]) -> Iterable[list[object]]:
    for count in counted:
        told = count.model != CANNOT_TELL
        yield [
            *_about(key, count.dataset, count.model if told else None),
            count.group,
            key.models[count.model] if told else count.model,
            count.raters,
            count.questions,
            *_numbers(count.chosen, 1 / len(key.models) if told else None),
            f"{count.won:.6g}" if told else "",
            "",
            "; ".join([*_notes(key, count.dataset), PUBLISHED]),
        ]


def _agreement_lines(key: BestOfKey, agreed: list[Agreement]) -> Iterable[list[object]]:
    for one in agreed:
        yield [
            *_about(key, one.dataset, None),
            one.metric,
            one.convention,
            one.raters,
            one.questions,
            *_numbers(one.agreed, one.chance, one.reason),
            "; ".join(_notes(key, one.dataset)),
        ]


def _numbers(share: Share, chance: float | None, more: str = "") -> list[Any]:
    """Values of the columns ``answers`` (or ``agreed``) to ``reason``."""
    ends = (share.clustered.low, share.clustered.high, share.wilson.low, share.wilson.high)
    reason = "; ".join(dict.fromkeys(filter(None, [more, share.clustered.reason])))
    values = ["" if value is None else f"{value:.6f}" for value in (share.value, *ends, chance)]
    return [share.answers, f"{share.hits:.6g}", *values, reason]


def _about(key: BestOfKey, dataset: str, model: str | None) -> list[str]:
    sources = _sources(key, dataset, model)
    return [
        " and ".join(sorted({source.source for source in sources})),
        key.scale,
        " and ".join(sorted({source.protocol for source in sources})),
        "yes" if _is_papers(key) else "NO",
        key.study,
        key.datasets[dataset] if dataset else "all",
    ]


def _sources(key: BestOfKey, dataset: str, model: str | None) -> list[Source]:
    return [
        source
        for source in key.sources
        if dataset in ("", source.dataset) and model in (None, source.model)
    ]


def _is_papers(key: BestOfKey) -> bool:
    """Is this the study of the paper, with its bytes and its protocol?"""
    clips = dict.fromkeys(key.datasets, 0)
    for asked in key.questions:
        clips[asked.dataset] += 1
    if not all(source.official_paper_protocol for source in key.sources):
        return False
    papers = load_item(BestOf, BEST_OF_FILE)
    return clips == papers.clips and sorted(key.models) == sorted(papers.models)


def _notes(key: BestOfKey, dataset: str) -> list[str]:
    sources = _sources(key, dataset, None)
    if all(source.source == "official" for source in sources):
        return []
    kinds = sorted({source.source for source in sources} - {"official"})
    return [f"clips of {' and '.join(kinds)} bytes"]


# -- for people


def _grid(
    name: str, key: BestOfKey, read: Answers, counted: list[Count], agreed: list[Agreement]
) -> Grid:
    warnings = read.warnings()
    if not _is_papers(key):
        kinds = sorted({source.source for source in key.sources})
        warnings.append(
            f"NOT COMPARABLE with the study of the paper: {' and '.join(kinds)} bytes, scale "
            f"{key.scale}, {len(key.questions)} questions, {len(key.models)} models."
        )
    return Grid(
        name=name,
        title="Human preferences",
        intro=[
            f"{len(read.raters)} raters gave {len(read.answers)} answers to the question "
            f"“{key.about.question}” about {len(key.questions)} clips; they saw predictions "
            "without names, in an order of their own.",
            "The interval of the table (95 %) is the bootstrap over raters and questions: both "
            "are a sample, and answers of one rater or about one clip are alike. Wilson's "
            "interval takes answers as independent, so it is too narrow; it is there to compare.",
        ],
        warnings=warnings,
        sections=[
            *(_share_section(key, counted, dataset) for dataset in ["", *key.datasets]),
            *_group_section(key, counted),
            _agreement_section(key, agreed),
            _place_section(key, read),
        ],
        legend=_legend(key),
        made_from=f"answers to the questionnaire of study `{key.study}` by `stp study preferences`",
    )


def _share_section(key: BestOfKey, counted: list[Count], dataset: str) -> Section:
    lines = [count for count in counted if count.dataset == dataset and not count.group]
    ranks = _ranks(lines)
    rows: list[list[str | Item]] = [
        [
            key.models.get(count.model, count.model),
            f"{count.chosen.hits:.0f}",
            Item(_percent(count.chosen.value), rank=ranks.get(count.model, 0)),
            *_intervals(count.chosen),
            "" if count.model == CANNOT_TELL else f"{count.won:.3g}",
            "",
        ]
        for count in lines
    ]
    first = lines[0]
    reasons = dict.fromkeys(
        f"{key.models.get(count.model, count.model)}: {count.chosen.clustered.reason}"
        if count.chosen.clustered.reason.startswith("no spread")
        else f"no interval: {count.chosen.clustered.reason}"
        for count in lines
        if count.chosen.clustered.reason
    )
    return Section(
        title=key.datasets[dataset] if dataset else "All datasets",
        columns=["Model", "Found best", "Share", *INTERVALS, "Questions won", "Paper"],
        rows=rows,
        numeric=[False, True, True, True, True, True, True],
        intro=[
            f"{first.raters} raters, {first.questions} questions, {first.chosen.answers} answers; "
            f"{', '.join(_about(key, dataset, None)[:1])} bytes. Chosen blindly, each model would "
            f"have {_percent(1 / len(key.models))}."
        ],
        notes=list(reasons),
    )


def _ranks(lines: list[Count]) -> dict[str, int]:
    """First and second place; none where two share it."""
    shares = {c.model: c.chosen.hits for c in lines if c.model != CANNOT_TELL}
    ordered = sorted(set(shares.values()), reverse=True)[:2]
    return {
        model: ordered.index(hits) + 1
        for model, hits in shares.items()
        if hits in ordered and list(shares.values()).count(hits) == 1
    }


def _group_section(key: BestOfKey, counted: list[Count]) -> Iterable[Section]:
    groups = list(dict.fromkeys(count.group for count in counted if count.group))
    names = list(dict.fromkeys(count.model for count in counted))
    if not groups:
        return
    rows: list[list[str | Item]] = []
    for group in groups:
        by_model = {count.model: count for count in counted if count.group == group}
        first = by_model[names[0]]
        shares = [by_model[name].chosen for name in names]
        rows.append(
            [
                group,
                str(first.raters),
                str(first.chosen.answers),
                *(f"{_percent(s.value)} ({_between(s.clustered) or '–'})" for s in shares),
            ]
        )
    yield Section(
        title="Groups of raters",
        columns=["Group", "Raters", "Answers", *(key.models.get(name, name) for name in names)],
        rows=rows,
        numeric=[False, *[True] * (2 + len(names))],
        notes=[
            f"Groups of fewer than {FEWEST_RATERS} raters are left out, and others with them where "
            "they could be found from the total. In parentheses: 95 % interval, where there are "
            "enough raters and questions for one."
        ],
    )


def _agreement_section(key: BestOfKey, agreed: list[Agreement]) -> Section:
    rows: list[list[str | Item]] = []
    notes: dict[str, None] = {}
    for one in agreed:
        if one.reason and not one.dataset:
            notes[f"{one.metric}: {one.reason}"] = None
        if not one.agreed.answers and one.dataset:
            continue
        rows.append(
            [
                one.metric,
                key.datasets[one.dataset] if one.dataset else "all",
                str(one.questions),
                str(one.agreed.answers),
                _percent(one.agreed.value),
                *_intervals(one.agreed),
                _percent(one.chance),
            ]
        )
    return Section(
        title="Agreement with metrics",
        columns=["Metric", "Dataset", "Questions", "Answers", "Agreed", *INTERVALS, "Chance"],
        rows=rows,
        numeric=[False, False, *[True] * 6],
        intro=[
            "How often raters chose the prediction that a metric finds best of the same clip. "
            "Answers of raters who could not tell do not count; where k models are equally good, "
            "choosing one of them counts 1/k."
        ],
        notes=list(notes),
    )


def _place_section(key: BestOfKey, read: Answers) -> Section:
    rows: list[list[str | Item]] = [
        [LETTERS[number], f"{share.hits:.0f}", _percent(share.value), *_intervals(share)]
        for number, share in enumerate(places(key, read))
    ]
    return Section(
        title="Places on the page",
        columns=["Place", "Chosen", "Share", *INTERVALS],
        rows=rows,
        numeric=[False, True, True, True, True],
        intro=[
            "A check: models come in random order, so every place should be chosen about equally "
            "often. A place that stands out means raters who clicked without looking."
        ],
    )


def _legend(key: BestOfKey) -> list[str]:
    lines = [
        "Found best: number of answers. Share: of all answers, those of raters who could not tell "
        "included.",
        "Questions won: in how many questions no other model was chosen more often; a shared "
        "first place counts in part.",
        f"95 % interval: {RESAMPLES:,} resamples of raters and, within each dataset, of questions.",
        f"Paper: empty, since {PUBLISHED}.",
        f"FVD: {SETS_ONLY}.",
        f"Pictures: {key.pictures}. Clips were drawn with seed {key.about.seed}, without "
        "replacement, evenly over clusters (videos, trajectories).",
    ]
    lines += [f"{metric}: `{convention}`" for metric, convention in PER_CLIP.items()]
    seeds = {source.seed for source in key.sources if source.seed is not None}
    if seeds:
        lines.append(f"Trained with seed {', '.join(map(str, sorted(seeds)))}.")
    return lines


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _intervals(share: Share) -> list[str]:
    return [_between(share.clustered), _between(share.wilson)]


def _between(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return ""
    return f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"
