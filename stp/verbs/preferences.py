"""Verbs of studies with people."""

from pathlib import Path
from typing import Annotated

import typer

from stp.run.results import last_results
from stp.verbs.app import Log, examples, say, studies

LAST = last_results()
TABLES = LAST / "tables"
PAGE = LAST / "human_study" / "questionnaire.html"
KEY = PAGE.with_name("key.json")


@studies.command(
    epilog=examples(
        "snakemake --profile local results/demo/human_study/questionnaire.html",
        "stp study questionnaire results/demo/plan/short_term.json --out trial/questionnaire.html",
        "stp study questionnaire results/paper/results.duckdb --study config/human_pairs.yaml "
        "--where \"tested_on = 'bair'\"",
        "stp study questionnaire models.csv --study config/human_pairs.yaml",
        "stp study questionnaire --after trial/answers --page trial/questionnaire.html",
        "stp study questionnaire results/raw/pvqa --study config/human_ratings.yaml --out pages",
    )
)
def questionnaire(
    source: Annotated[
        Path,
        typer.Argument(
            help="What raters see: predictions of a short-term manifest (results/SCALE/plan); "
            "pairs of models from a results store (.duckdb) or a CSV file (model, clips, a column "
            "for each metric); or a folder of videos to rate (Predicted_Videos, True_Videos, "
            "Tags.csv)."
        ),
    ] = LAST / "plan" / "short_term.json",
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page to write (.html); for ratings, the folder of pages.",
            show_default=f"{PAGE}; with --after, questionnaire-next.html; for ratings, ratings/",
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            help="The study: its `item` says what raters are asked. Others are "
            "config/human_pairs.yaml and config/human_ratings.yaml.",
            show_default="config/human_study.yaml",
        ),
    ] = None,
    where: Annotated[
        str, typer.Option(help="For pairs: which cells of the store, as a condition in SQL.")
    ] = "",
    after: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write the next page of a study of pairs instead, from files or folders of "
            "answers: it asks one more rater about the pairs that need one."
        ),
    ] = None,
    page: Annotated[
        Path, typer.Option(help="With --after: the first page, with key.json beside it.")
    ] = PAGE,
    log: Log = None,
) -> None:
    """Write a blinded questionnaire, and its key.

    A page is one file for raters, without names of models. The key (key.json beside it) says what
    each choice stands for; keep it secret. docs/human_study.md describes the three kinds of item:
    the best of several predictions, pairs of videos, and ratings.
    """
    from stp.run.meter import CountMeter
    from stp.studies.answer_key import PairKey
    from stp.studies.options import BEST_OF_FILE, load_study
    from stp.studies.pairs import write_next_page
    from stp.studies.questionnaire import write_questionnaire

    if after:
        next_page = out or page.with_name("questionnaire-next.html")
        third, second = write_next_page(page, after, next_page)
        say(
            log,
            f"wrote {next_page}: {third} pairs of videos on which two raters disagree, {second} "
            "with fewer than two answers",
        )
        return
    study = study or BEST_OF_FILE
    item = load_study(study).item
    if where and item != "pair":
        raise typer.BadParameter("only for a study of pairs", param_hint="--where")
    pages = out or (PAGE.with_name("ratings") if item == "rating" else PAGE)
    meter = CountMeter("questionnaire")
    key = write_questionnaire(source, pages, study_file=study, where=where, report=meter)
    meter.clear()
    for scenario in key.scenarios if isinstance(key, PairKey) else []:
        if scenario.reason:
            say(log, f"  {scenario.name}: {scenario.reason}")
    size = f" ({pages.stat().st_size / 1e6:.1f} MB)" if pages.is_file() else ""
    say(log, f"wrote {pages}{size}: {key.summary}, {key.pictures}; study {key.study}")
    beside = pages / "key.json" if pages.is_dir() else pages.with_name("key.json")
    say(log, f"wrote {beside}: keep it from raters")


@studies.command(
    epilog=examples(
        "snakemake --profile local results/tables/human_preferences.csv",
        "stp study preferences results/demo/human_study/answers "
        "--key results/demo/human_study/key.json",
    )
)
def preferences(
    answers: Annotated[
        list[Path] | None, typer.Argument(help="Files of answers (.csv), or folders of them.")
    ] = None,
    key: Annotated[Path, typer.Option(help="The key of the questionnaire.")] = KEY,
    manifest: Annotated[
        Path | None,
        typer.Option(help="The short-term manifest, to compare answers with metrics as well."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The table to write (.csv).",
            show_default=f"{TABLES / 'human_preferences.csv'}; for pairs, "
            "agreement_with_people.csv; for ratings, Ratings.csv beside the key",
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            help="A study of pairs: without answers and key, the table has only the published "
            "values."
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Read the answers of raters, and write their table.

    What is written depends on the kind of study, which the key of the questionnaire says.

    Best of several predictions: how often each model was chosen as the best, with intervals.

    Pairs of videos: how often each metric and people agree on which of two models is better.

    Ratings of single videos: the file Ratings.csv, from which opinion scores are made
    (docs/pvqa.md).
    """
    from stp.collect.people_agreement import TABLE
    from stp.plan.suite import suites_with
    from stp.studies.answer_key import BestOfKey, Key, PairKey, RatingKey, load_key
    from stp.studies.answers import Answers, read_answers
    from stp.studies.options import Pairs, load_item
    from stp.studies.pair_table import render_agreement
    from stp.studies.pairs import empty_key
    from stp.studies.preferences_table import render_preferences
    from stp.studies.ratings import write_ratings

    if not answers and study is None:
        raise typer.BadParameter("name files or folders of answers", param_hint="ANSWERS")
    pairs = None if study is None else load_item(Pairs, study)
    if pairs is not None and not answers and (key == KEY or not key.exists()):
        # The key in the usual place may be of another study.
        loaded_key: Key = empty_key(pairs)
    else:
        loaded_key = load_key(key, Key if pairs is None else PairKey)
    if manifest is not None and not isinstance(loaded_key, BestOfKey):
        raise typer.BadParameter("only for a study of the item best_of", param_hint="--manifest")
    read = read_answers(answers, loaded_key, key) if answers else Answers({}, [])
    suffix = ""
    if isinstance(loaded_key, RatingKey):
        table = out or key.with_name("Ratings.csv")
        write_ratings(loaded_key, read, table)
    elif isinstance(loaded_key, PairKey):
        table = out or TABLES / f"{TABLE}.csv"
        published = next((suite.published_file for suite in suites_with(TABLE).values()), None)
        render_agreement(loaded_key, read, table, published=published)
        suffix = ", and beside it .md, .tex, .html, .png and .svg"
    else:
        assert isinstance(loaded_key, BestOfKey)
        table = out or TABLES / "human_preferences.csv"
        render_preferences(loaded_key, read, table, manifest=manifest)
        suffix = f", {table.stem}_agreement.csv, and beside them .md, .tex and .html"
    counts = f"{len(read.answers)} answers of {len(read.raters)} raters"
    say(log, f"{counts}: wrote {table}{suffix}")
    if isinstance(loaded_key, RatingKey) and (text := read.identical()):
        say(log, text)
