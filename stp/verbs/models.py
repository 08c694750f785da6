"""Verbs that list models, and count and measure their costs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from stp.core.errors import StpError
from stp.verbs import output
from stp.verbs.app import DEMO, ConfigFile, Log, Panel, app, examples, listing, say
from stp.verbs.output import Ticker, print_lines, put


@listing.command(
    "models",
    epilog=examples(
        "stp list models",
        "stp list models mcvd",
        "stp list models --page docs/models.md",
    ),
)
def models(
    name: Annotated[str | None, typer.Argument(help="A model (default: all).")] = None,
    configfile: ConfigFile = DEMO,
    page: Annotated[
        Path | None,
        typer.Option(help="Write the page of all models (Markdown) to this file instead."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            help="Write Table 19 of PredBench, with what `stp profile` measured, to this .csv file "
            "instead, with .md, .tex and .html beside it."
        ),
    ] = None,
    measurements: Annotated[
        Path, typer.Option(help="With --table: the folder of measurements.")
    ] = Path("results/profile"),
    log: Log = None,
) -> None:
    """List the models; for one model, show parameters and multiply-adds on every dataset.

    The paper of --table is PredBench, whose Table 19 has sizes and speeds of networks. Speed and
    memory in our table were measured by `stp profile`.
    """
    from stp.core.disk import write_text, writing
    from stp.plan import config

    loaded = config.load(configfile)
    if table is not None:
        from stp.profiling.table import measurements as read
        from stp.profiling.table import rows, write

        measured = rows(loaded, read(measurements, loaded))
        write(measured, table)
        missing = [row.title for row in measured if not row.host]
        gaps = f", without {', '.join(missing)}, which were not measured" if missing else ""
        say(log, f"wrote {table}, and beside it .md, .tex and .html{gaps}")
        return
    from stp.page import text_table
    from stp.profiling import page as pages

    if page is not None:
        text = pages.page(loaded)
        with writing(page):
            write_text(page, text)
        say(log, f"wrote {page}")
    elif name is not None:
        print_lines(pages.details(loaded, name))
    else:
        columns = pages.columns(loaded)
        put(
            lambda: text_table.format_plain(columns),
            None,
            lambda width: text_table.styled_table(columns, width),
        )


@app.command(
    rich_help_panel=Panel.RUN,
    epilog=examples(
        "stp profile convlstm moving_mnist",
        "stp profile mcvd moving_mnist --seconds 30",
        "stp profile simvpv2 kth --device cuda --batch 16 --format json",
    ),
)
def profile(
    model: Annotated[str, typer.Argument(help="A model that is trained by gradient descent.")],
    dataset: Annotated[str, typer.Argument(help="The dataset whose frames it predicts.")],
    configfile: ConfigFile = DEMO,
    device: Annotated[
        str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")
    ] = "auto",
    threads: Annotated[
        int | None, typer.Option(help="Number of CPU threads (default: all of the machine).", min=1)
    ] = None,
    batch: Annotated[int, typer.Option(help="Number of clips in a batch.", min=1)] = 1,
    seconds: Annotated[
        float,
        typer.Option(
            help="Seconds to spend on each measurement; there are at least three repetitions."
        ),
    ] = 10.0,
    forward_only: Annotated[
        bool, typer.Option("--forward-only", help="Do not measure the training step.")
    ] = False,
    format: output.TableOrJson = "table",
    out: Annotated[
        Path | None, typer.Option(help="Also write everything to this file, as JSON.")
    ] = None,
    log: Log = None,
) -> None:
    """Count parameters and multiply-adds of a network, and measure its memory and speed.

    Weights are newly initialised and frames are random: neither affects the cost of a network.
    """
    from stp.core.disk import write_text, writing
    from stp.plan import config

    if seconds <= 0:
        raise StpError(f"--seconds is {seconds}", expected="a number above 0")
    loaded = config.load(configfile)

    import torch

    from stp.profiling import report

    ticker = Ticker(f"profile  {model} on {dataset}")
    try:
        measurements = report.profile(
            loaded,
            model,
            dataset,
            device=device,
            threads=threads or torch.get_num_threads(),
            batch=batch,
            seconds=seconds,
            training=not forward_only,
            report=ticker.report,
        )
    finally:
        ticker.close()
    text = json.dumps(measurements, indent=1) + "\n"
    if out is not None:
        with writing(out):
            write_text(out, text)
    if format == "json":
        print(text, end="")
    else:
        for line in report.lines(measurements):
            print(line)
    if out is not None:
        say(log, f"wrote {out}")
