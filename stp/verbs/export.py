"""Verbs that export artefacts and submission bundles, and list works to cite."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from stp.page.safe_text import visible
from stp.run.results import RESULTS
from stp.verbs import output
from stp.verbs.app import DEMO, ConfigFile, examples, listing, say, stores

if TYPE_CHECKING:
    from stp.export.checking import Summary


@stores.command(
    epilog=examples(
        "stp store export --model simvpv2 --out simvpv2.zip",
        "stp store export --model simvpv2 --samples --with-checkpoints",
        "stp store export --check simvpv2.zip",
        "stp store export ../simvpv2-kth simvpv2 kth",
        "stp store export ../scores.tar --scores-only",
    )
)
def export(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[OUT]",
            help="Where to write artefacts: a new folder, or a new file that ends with .tar.",
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="Select artefacts by words of their paths, or by paths of receipts (default: all)."
        ),
    ] = None,
    configfile: ConfigFile = DEMO,
    scores_only: Annotated[
        bool,
        typer.Option(
            "--scores-only",
            help="Pack the scores, and only the receipts of what they are made from.",
        ),
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="Make a submission bundle of this model instead.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the bundle: a new folder, or a new file that ends with .zip "
            "(default: results/submissions/MODEL.zip)."
        ),
    ] = None,
    samples: Annotated[
        bool,
        typer.Option("--samples", help="Include the scores of every test sample in the bundle."),
    ] = False,
    with_checkpoints: Annotated[
        bool, typer.Option("--with-checkpoints", help="Include the trained models in the bundle.")
    ] = False,
    database: output.Database = output.DATABASE,
    check: Annotated[
        Path | None, typer.Option(help="Verify this bundle and print its contents instead.")
    ] = None,
) -> None:
    """Pack artefacts for another store, or all scores of a model for other people.

    OUT packs artefacts with everything they are made from, for `stp store import`. `--model` makes
    a self-contained bundle: scores, receipts, checksums of raw files, versions, a model card,
    citations. The same store gives the same bytes. `--check` refuses a damaged bundle.
    """
    from stp.core.errors import StpError

    modes = [folder is not None, model is not None, check is not None]
    if sum(modes) != 1:
        raise StpError(
            "it is unclear what to export",
            expected="one of OUT (for artefacts), --model NAME (for a bundle) and --check BUNDLE",
            remedy="--out names the file of a bundle",
        )
    if folder is not None:
        _artefacts(folder, words or [], configfile, scores_only)
    elif model is not None:
        _bundle(model, out, database, samples, with_checkpoints)
    elif check is not None:
        from stp.export.checking import check as verify

        print(visible("\n".join(_summary(check, verify(check)))))


def _artefacts(out: Path, words: list[str], configfile: Path, scores_only: bool) -> None:
    from stp.core.units import size_text
    from stp.run.meter import CountMeter
    from stp.upkeep.sharing import export as pack
    from stp.verbs.app import load_plan

    meter = CountMeter("export")
    packed = pack(load_plan(configfile), words, out, scores_only, meter)
    meter.clear()
    receipts = f", receipts of {len(packed.receipts)} more" if packed.receipts else ""
    print(f"{out}: artefacts: {len(packed.whole)}{receipts}, {size_text(packed.bytes)}")
    if packed.absent:
        print(f"left out because they are missing: {len(packed.absent)}")
        for artefact in packed.absent:
            print(f"  {artefact.stage} of {artefact.label}")


def _bundle(
    model: str, out: Path | None, database: Path, samples: bool, with_checkpoints: bool
) -> None:
    from stp.export.bundle import Options
    from stp.export.bundle import export as write
    from stp.run.meter import CountMeter

    out = out or RESULTS / "submissions" / f"{model}.zip"
    meter = CountMeter("export")
    contents = write(database, model, out, Options(samples, with_checkpoints), meter)
    meter.clear()
    print("\n".join(_summary(out, contents)))


def _summary(path: Path, summary: "Summary") -> list[str]:
    from stp.core.units import size_text

    manifest = summary.manifest
    by_dimension = ", ".join(f"{name} {number}" for name, number in summary.dimensions.items())
    comparable = f"{manifest.comparable_cells} of {manifest.cells} comparable with published values"
    samples = manifest.sample_rows
    samples_text = "" if samples is None else f"; of single samples: {samples}"
    return [
        f"{path}: a complete bundle of {manifest.title} ({manifest.model})",
        f"  evaluations: {manifest.cells} ({by_dimension}); {comparable}",
        f"  data: {', '.join(manifest.sources)}; scale {', '.join(manifest.scales)}",
        f"  values: {manifest.rows}{samples_text}",
        f"  checkpoints: {'in it' if manifest.checkpoints else 'named only'}",
        f"  {len(manifest.files) + 1} files, {size_text(summary.bytes)}; "
        f"identity {summary.identity}",
    ]


@listing.command(
    "works",
    epilog=examples(
        "stp list works",
        "stp list works --model simvpv2",
        "stp list works kth tau fvd --format markdown",
        "stp list works --out CITATION.bib --out CITATION.md",
    ),
)
def cite(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Datasets, models and metrics (default: all that the results are based on)."
        ),
    ] = None,
    database: output.Database = output.DATABASE,
    model: Annotated[
        str | None, typer.Option(help="Only the works that the results of this model are based on.")
    ] = None,
    format: Annotated[
        Literal["bibtex", "markdown"], typer.Option("--format", "-f", help="Output format.")
    ] = "bibtex",
    out: Annotated[
        list[Path] | None,
        typer.Option(help="Write to this .bib or .md file instead; can be given several times."),
    ] = None,
    log: Annotated[
        Path | None, typer.Option("--log", help="Also write every line to this file.")
    ] = None,
) -> None:
    """List the works to cite: for the benchmark, datasets, models and metrics of the results."""
    from stp.core.errors import StpError
    from stp.export import cite as citing
    from stp.page.files import write_all

    formats = {".bib": citing.as_bibtex, ".md": citing.as_markdown}
    for path in out or []:
        if path.suffix not in formats:
            raise StpError(f"{path}: unknown format", expected="a name that ends with .bib or .md")
    works = citing.of_names(names) if names else citing.of_results(database, model)
    if out:
        write_all({path: formats[path.suffix](works) for path in out})
        say(log, f"wrote {', '.join(map(str, out))}")
    else:
        print(formats[".bib" if format == "bibtex" else ".md"](works), end="")
