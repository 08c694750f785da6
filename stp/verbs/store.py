"""Verbs that clean up, verify and fill the store of artefacts."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from stp.page.safe_text import visible
from stp.verbs.app import DEMO, ConfigFile, examples, load_plan, stores
from stp.verbs.output import print_lines


@stores.command(
    epilog=examples(
        "stp store gc", "stp store gc --older-than 30 --yes", "stp store gc --predictions --yes"
    )
)
def gc(
    configfile: Annotated[
        list[Path] | None,
        typer.Option(
            "--configfile", help="Scale files whose artefacts are kept (default: all of config/)."
        ),
    ] = None,
    predictions: Annotated[
        bool,
        typer.Option("--predictions", help="Select the data of fully scored predictions instead."),
    ] = False,
    older_than: Annotated[
        float, typer.Option(help="Keep artefacts younger than this number of days.", min=0)
    ] = 7,
    forget_after: Annotated[
        float | None,
        typer.Option(help="Ignore checkouts without a run in this number of days."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete what is listed.")] = False,
) -> None:
    """List the artefacts of a store that no plan needs; with --yes, delete them.

    The artefacts of the scale files are needed, and those of the last run of every checkout on this
    store. Artefacts that are being made always stay. With --predictions, the data of predictions
    are deleted, but not their receipts, so that tables can still be made; if a score needs the
    data, they are made again.
    """
    from stp.upkeep import garbage

    garbage.run_gc(configfile, predictions, older_than, forget_after, yes)


@stores.command(
    epilog=examples("stp store verify --all", "stp store verify", "stp store verify simvpv2 kth")
)
def verify(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Select artefacts by words of their paths, or by paths of receipts (default: the "
            "whole plan)."
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Verify the whole store, including artefacts that the plan does not need."
        ),
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(help="Number of files to read at once (default: the number of cores).", min=1),
    ] = None,
    configfile: ConfigFile = DEMO,
) -> None:
    """Verify the checksums of finished artefacts, and name damaged ones and the folders to delete.

    Words, such as `simvpv2 kth`, select the artefacts whose paths have all of them. A word with a
    slash is the path of one artefact's receipt (artefact.json), and selects this artefact.

    The receipt of an artefact has the SHA-256 of its files; a copy of the receipt shows whether it
    was edited. Raw files are checked by `stp fetch --check`.

    Exit codes: 0 no damage, 1 something is damaged, 2 wrong usage.
    """
    from stp.core.units import size_text
    from stp.run.meter import CountMeter
    from stp.upkeep import verify as verification
    from stp.upkeep.inventory import artefacts, require
    from stp.upkeep.why import select_artefacts

    if everything and words:
        raise typer.BadParameter("name artefacts, or use --all", param_hint="--all")
    plan = load_plan(configfile)
    require(plan.store)
    folders = (
        artefacts(plan.store)
        if everything
        else [a.folder for a in select_artefacts(plan, words or [])]
    )
    meter = CountMeter("verify")
    result = verification.verify([plan.store / folder for folder in folders], meter, threads)
    meter.clear()
    print_lines(verification.lines(result))
    print(
        f"artefacts: {result.artefacts} verified, {size_text(result.bytes)}; "
        f"{len(result.damaged)} damaged"
    )
    if result.damaged:
        raise typer.Exit(1)


@stores.command(
    epilog=examples(
        'stp store accept convlstm kth --reason "the loop was split into two functions"',
        "stp store accept convlstm kth --undo",
    )
)
def accept(
    words: Annotated[
        list[str],
        typer.Argument(help="Select artefacts by words of their paths, or by paths of receipts."),
    ],
    reason: Annotated[str, typer.Option(help="Why the current code gives the same results.")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="Withdraw the declaration instead.")] = False,
    configfile: ConfigFile = DEMO,
) -> None:
    """Declare that artefacts of older code are current, so that they are not made again.

    Words, such as `convlstm kth`, select the artefacts whose paths have all of them. A word with a
    slash is the path of one artefact's receipt (artefact.json), and selects this artefact.

    Only artefacts that differ from the plan in nothing but code can be accepted. Tables, exported
    bundles and `stp trace` name the declaration, its author and its reason. Receipts do not change.
    """
    from stp.upkeep import accept as declaring

    if undo:
        entries, done = declaring.undo(load_plan(configfile), words), "no longer accepted"
    else:
        entries = declaring.accept(lambda: load_plan(configfile), words, reason)
        done = "accepted"
    for entry in entries:
        print(f"{done}: {entry.stage} {entry.address}/{entry.old} for {entry.new}")


@stores.command(
    "import", epilog=examples("stp store import ../simvpv2-kth", "stp store import scores.tar")
)
def import_(
    source: Annotated[
        Path, typer.Argument(help="The output of stp store export, or another store.", exists=True)
    ],
    configfile: ConfigFile = DEMO,
) -> None:
    """Import artefacts that were made elsewhere into the store.

    Every file is compared with its receipt, and every receipt with its path. Existing artefacts do
    not change. Damaged ones are refused by name, and the others are imported.
    """
    from stp.run.meter import CountMeter
    from stp.upkeep.receiving import receive

    meter = CountMeter("import")
    received = receive(load_plan(configfile), source, meter)
    meter.clear()
    print(
        f"artefacts: {len(received.taken)} taken, {len(received.present)} were there already, "
        f"{len(received.refused)} refused"
    )
    for folder, reason in received.refused.items():
        text = f"refused: {folder}\n{reason}"
        print(visible(text).replace("\n", "\n  "), file=sys.stderr)
    if received.refused:
        raise typer.Exit(1)
