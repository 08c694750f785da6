"""The verb that searches hyper-parameters; nothing else starts a search."""

from pathlib import Path
from typing import Annotated, Any

import typer

from stp.verbs.app import DEMO, ConfigFile, Log, app, examples, load_plan, say


@app.command(
    rich_help_panel="Stages",
    epilog=examples(
        "stp search convlstm enso --trials 5",
        "stp search convlstm kth --trials 40 --configfile config/paper.yaml",
    ),
)
def search(
    model: Annotated[str, typer.Argument(help="A model of the scale file.")],
    dataset: Annotated[str, typer.Argument(help="The dataset on which the scale file trains it.")],
    configfile: ConfigFile = DEMO,
    trials: Annotated[
        int | None,
        typer.Option(
            help="Total number of trials, including earlier ones (default: that of the budget)."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file for the best parameters (default: below results/search)."),
    ] = None,
    log: Log = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda.")] = None,
) -> None:
    """Search hyper-parameters by the validation criterion; continues an earlier search.

    config/search/MODEL.yaml states what is searched. Test data are never used, and no training
    uses the result by itself: paste it under models: in a scale file.
    """
    from stp.search.run import check_trials
    from stp.search.run import search as run_search

    check_trials(trials)
    more: dict[str, Any] = {"device": device} if device else {}
    made = run_search(
        load_plan(configfile), model, dataset, trials=trials, out=out, log=log, **more
    )
    say(log, f"wrote {made}, {made.stem}_trials.csv and {made.stem}_history.png")
