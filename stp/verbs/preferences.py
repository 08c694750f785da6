"""Verbs of the human preference study."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from stp.core.errors import StpError
from stp.run.results import last_results
from stp.verbs.app import Log, app, examples, say

command = functools.partial(app.command, rich_help_panel="Results")

HERE = last_results()
TABLES = HERE / "tables"
PAGE = HERE / "human_study" / "questionnaire.html"
KEY = PAGE.with_name("key.json")


@command(
    epilog=examples(
        "snakemake --profile local results/demo/human_study/questionnaire.html",
        "stp questionnaire results/demo/plan/short_term.json --out trial/questionnaire.html",
        "stp questionnaire --pairs results/paper/results.duckdb --where \"tested_on = 'bair'\"",
        "stp questionnaire --pairs models.csv --out trial/questionnaire.html",
        "stp questionnaire --after trial/answers --page trial/questionnaire.html",
        "stp questionnaire --ratings results/raw/pvqa --out results/pvqa/human_study/ratings",
    )
)
def questionnaire(
    manifest: Annotated[
        Path, typer.Argument(help="The short-term manifest, from results/SCALE/plan.")
    ] = HERE / "plan" / "short_term.json",
    out: Annotated[
        Path | None,
        typer.Option(
            help="The page to write (.html); with --ratings the folder of pages.",
            show_default=f"{PAGE}; questionnaire-next.html with --after, ratings with --ratings",
        ),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(
            help="The configuration of the study.",
            show_default="config/human_study.yaml; human_pairs.yaml with --pairs, "
            "human_ratings.yaml with --ratings",
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Show pairs of videos instead, of models that are chosen from this results store "
            "(.duckdb) or CSV file (model, clips, a column for each metric)."
        ),
    ] = None,
    where: Annotated[
        str, typer.Option(help="With --pairs: which cells of the store, a condition in SQL.")
    ] = "",
    after: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write the next page of a study of pairs instead, from files of answers or "
            "folders of them: it asks one more rater about the pairs that need one."
        ),
    ] = None,
    page: Annotated[
        Path, typer.Option(help="With --after: the first page, with key.json beside it.")
    ] = PAGE,
    ratings: Annotated[
        Path | None,
        typer.Option(
            help="Let people rate single videos from 0 to 100 instead, those of this folder "
            "(Predicted_Videos, True_Videos, Tags.csv): a page for each session of each rater."
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Write the blinded questionnaire of the human preference study, and its key.

    The page is one file for raters, without any name of a model. The key (key.json beside it) says
    which model each choice stands for; keep it to yourself. docs/human_study.md describes the
    three kinds of studies: the best of several predictions, pairs of videos, and ratings.
    """
    from stp.run.meter import CountMeter

    if sum(map(bool, (after, pairs, ratings))) > 1:
        raise typer.BadParameter("one of --after, --pairs and --ratings", param_hint="--ratings")
    if where and pairs is None:
        raise typer.BadParameter("only with --pairs", param_hint="--where")
    if after:
        from stp.human_study.pairs import write_next_page

        following = out or page.with_name("questionnaire-next.html")
        third, second = write_next_page(page, after, following)
        say(
            log,
            f"wrote {following}: {third} pairs of videos on which two raters disagree, {second} "
            "with fewer than two answers",
        )
        return
    meter = CountMeter("questionnaire")
    if ratings is not None:
        from stp.human_study.rating_options import FILE as RATINGS
        from stp.human_study.rating_pages import write_rating_pages

        pages = out or PAGE.with_name("ratings")
        own = write_rating_pages(ratings, pages, study_file=study or RATINGS, report=meter)
        meter.clear()
        say(
            log,
            f"wrote {pages}: {len(own.seats)} raters, {len(own.questions)} videos, {own.pictures}; "
            f"study {own.study}",
        )
        say(log, f"wrote {pages / 'key.json'}: keep it from raters")
        return
    first = out or PAGE
    if pairs is not None:
        from stp.human_study.pairs import FILE, write_pairs

        pair_key = write_pairs(pairs, first, where=where, study_file=study or FILE, report=meter)
        meter.clear()
        told = f"{len(pair_key.models)} models of {pair_key.size}, {pair_key.pictures}"
        questions, checksum = len(pair_key.questions), pair_key.study
        for scenario in pair_key.scenarios:
            if scenario.reason:
                say(log, f"  {scenario.name}: {scenario.reason}")
    else:
        from stp.human_study.options import FILE as PREDICTIONS
        from stp.human_study.questionnaire import write_questionnaire

        key = write_questionnaire(manifest, first, study_file=study or PREDICTIONS, report=meter)
        meter.clear()
        told = f"{len(key.models)} models, {key.pictures}"
        questions, checksum = len(key.questions), key.study
    size = first.stat().st_size / 1e6
    say(log, f"wrote {first} ({size:.1f} MB): {questions} questions, {told}; study {checksum}")
    say(log, f"wrote {first.with_name('key.json')}: keep it from raters")


@command(
    epilog=examples(
        "snakemake --profile local results/tables/human_preferences.csv",
        "stp preferences results/demo/human_study/answers --key results/demo/human_study/key.json",
    )
)
def preferences(
    answers: Annotated[
        list[Path] | None, typer.Argument(help="Files of answers (.csv), or folders of them.")
    ] = None,
    key: Annotated[Path, typer.Option(help="The key of the questionnaire.")] = KEY,
    manifest: Annotated[
        Path | None,
        typer.Option(
            help="The short-term manifest; with it, answers are also compared with metrics."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The table to write (.csv).",
            show_default=f"{TABLES / 'human_preferences.csv'}; agreement_with_people.csv of pairs; "
            "Ratings.csv beside the key of ratings",
        ),
    ] = None,
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs",
            help="Answers are about pairs; without any, the table has the printed values alone.",
        ),
    ] = False,
    log: Log = None,
) -> None:
    """Read the answers of raters: how often each model was chosen as best, with intervals.

    Of a study of pairs: how often each metric and people agree on which of two models is better.
    Of ratings: the file Ratings.csv, of which opinion scores are made (docs/pvqa.md). The key says
    which kind of study it is.
    """
    from stp.collect.people_agreement import TABLE
    from stp.human_study.pair_key import load_pair_key
    from stp.human_study.rating_key import load_rating_key

    if not answers and not pairs:
        raise typer.BadParameter("name files of answers, or folders of them", param_hint="ANSWERS")
    rating_key = load_rating_key(key)
    if answers and rating_key is not None:
        from stp.human_study.rating_answers import by_rater, read_ratings, write_ratings
        from stp.opinions.raters import identical, identical_text

        made = out or key.with_name("Ratings.csv")
        found = read_ratings(answers, rating_key, key)
        write_ratings(found, made)
        raters = len({one.rater for one in found})
        say(log, f"{len(found)} ratings of {raters} raters: wrote {made}")
        if text := identical_text(identical(by_rater(found))):
            say(log, text)
        return
    pair_key = load_pair_key(key)
    if pairs or pair_key is not None:
        from stp.human_study.pair_options import load_pair_study
        from stp.human_study.pair_table import render_agreement
        from stp.human_study.pairs import nobody_asked
        from stp.plan.suite import suites_with

        if answers and pair_key is None:
            raise StpError(
                f"{key} is not the key of a questionnaire about pairs",
                expected="the key.json that `stp questionnaire --pairs` wrote beside the page",
                remedy="name it with --key",
            )
        if manifest is not None:
            raise typer.BadParameter("the key of pairs has all values", param_hint="--manifest")
        made = out or TABLES / f"{TABLE}.csv"
        asked = pair_key or nobody_asked(load_pair_study())
        published = next((suite.published_file for suite in suites_with(TABLE).values()), None)
        read = render_agreement(answers or [], asked, key, made, published=published)
        more = "and beside it .md, .tex, .html, .png and .svg"
    else:
        from stp.human_study.table import render_preferences

        made = out or TABLES / "human_preferences.csv"
        read = render_preferences(answers or [], key, made, manifest=manifest)
        more = f"{made.stem}_agreement.csv, and beside them .md, .tex and .html"
    say(
        log,
        f"{len(read.answers)} answers of {len(read.raters)} raters: wrote {made}, {more}",
    )
