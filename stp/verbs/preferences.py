"""Verbs of the human preference study."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from stp.run.results import last_results
from stp.verbs.app import Log, app, examples, say

command = functools.partial(app.command, rich_help_panel="Results")

HERE = last_results()


@command(
    epilog=examples(
        "snakemake --profile local results/demo/human_study/questionnaire.html",
        "stp questionnaire results/demo/plan/short_term.json --out trial/questionnaire.html",
    )
)
def questionnaire(
    manifest: Annotated[
        Path, typer.Argument(help="The short-term manifest, from results/SCALE/plan.")
    ] = HERE / "plan" / "short_term.json",
    out: Annotated[Path, typer.Option(help="The page to write (.html).")] = HERE
    / "human_study"
    / "questionnaire.html",
    study: Annotated[Path, typer.Option(help="The configuration of the study.")] = Path(
        "config/human_study.yaml"
    ),
    log: Log = None,
) -> None:
    """Write the blinded questionnaire of the human preference study, and its key.

    The page is one file for raters, without any name of a model. The key (key.json beside it) says
    which model each choice stands for; keep it to yourself.
    """
    from stp.human_study.questionnaire import write_questionnaire
    from stp.run.meter import CountMeter

    meter = CountMeter("questionnaire")
    key = write_questionnaire(manifest, out, study_file=study, report=meter)
    meter.clear()
    size = out.stat().st_size / 1e6
    say(
        log,
        f"wrote {out} ({size:.1f} MB): {len(key.questions)} questions, {len(key.models)} models, "
        f"{key.pictures}; study {key.study}",
    )
    say(log, f"wrote {out.with_name('key.json')}: keep it from raters")


@command(
    epilog=examples(
        "snakemake --profile local results/tables/human_preferences.csv",
        "stp preferences results/demo/human_study/answers --key results/demo/human_study/key.json",
    )
)
def preferences(
    answers: Annotated[
        list[Path], typer.Argument(help="Files of answers (.csv), or folders of them.")
    ],
    key: Annotated[Path, typer.Option(help="The key of the questionnaire.")] = HERE
    / "human_study"
    / "key.json",
    manifest: Annotated[
        Path | None,
        typer.Option(
            help="The short-term manifest; with it, answers are also compared with metrics."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The table to write (.csv).")] = HERE
    / "tables"
    / "human_preferences.csv",
    log: Log = None,
) -> None:
    """Read the answers of raters: how often each model was chosen as best, with intervals."""
    from stp.human_study.table import render_preferences

    read = render_preferences(answers, key, out, manifest=manifest)
    say(
        log,
        f"{len(read.answers)} answers of {len(read.raters)} raters: wrote {out}, "
        f"{out.stem}_agreement.csv, and beside them .md, .tex and .html",
    )
