"""Verbs for models that run elsewhere, and take part with their predictions."""

from pathlib import Path
from typing import Annotated

import typer

from stp.verbs.app import DEMO, ConfigFile, Log, examples, external


@external.command(
    epilog=examples(
        "stp external windows moving_mnist --out windows/digits --configfile config/paper.yaml",
        "stp external windows kth --dimension short_term --format npz --out windows/kth",
        "stp external windows kth --subset val --with-truth --out windows/kth-val",
        "stp external windows bridge --dimension robustness --interval 2 --format mp4 --out w/x2",
    )
)
def windows(
    dataset: Annotated[str, typer.Argument(help="The dataset whose frames are predicted.")],
    out: Annotated[Path, typer.Option(help="The folder to create.")],
    configfile: ConfigFile = DEMO,
    dimension: Annotated[
        str | None,
        typer.Option(help="Dimension of the evaluation, if several test on the dataset."),
    ] = None,
    trained_on: Annotated[
        str | None, typer.Option(help="The training dataset, if it differs from the tested one.")
    ] = None,
    train_subset: Annotated[str | None, typer.Option(help="Subset of the training data.")] = None,
    subset: Annotated[
        str | None,
        typer.Option(
            "--subset",
            "--split",
            help="test or another test subset; or train or val, to train elsewhere.",
        ),
    ] = None,
    horizon: Annotated[int | None, typer.Option(help="Number of frames to predict.", min=1)] = None,
    interval: Annotated[
        int | None, typer.Option(help="Use every n-th frame of the clips.", min=1)
    ] = None,
    kind: Annotated[
        str, typer.Option("--format", help="zarr, npz, or mp4 (lossy, for video only).")
    ] = "zarr",
    with_truth: Annotated[
        bool, typer.Option("--with-truth", help="Also write the frames to predict.")
    ] = False,
    log: Log = None,
) -> None:
    """Export the exact windows of a test, for a model that runs elsewhere.

    The scale file defines the tests, and options select one of them. Beside the windows are
    windows.json (their description), index.csv (a row for each) and a README that says what to
    return.
    """
    from stp.external.evaluation import choose
    from stp.external.importing import without_external
    from stp.external.windows import export
    from stp.plan import config
    from stp.plan.cells import Plan
    from stp.run import runner
    from stp.run.progress import Progress

    loaded = config.load(configfile)
    evaluation = choose(
        loaded,
        dataset,
        dimension=dimension,
        trained_on=trained_on,
        train_subset=train_subset,
        subset=subset,
        horizon=horizon,
        interval=interval,
    )
    plan = Plan(without_external(loaded))
    with runner.open_log(log) as file:
        lines = Progress("windows", dataset, plan, file)
        count = export(plan, evaluation, out, kind=kind, with_truth=with_truth, report=lines.report)
        lossy = "; MP4 is lossy, off by up to about 3/255" if kind == "mp4" else ""
        lines.say(f"wrote {count} windows to {out}{lossy}")


@external.command(
    "import",
    epilog=examples(
        "stp external import returned/ --model theirs --title Theirs --reference https://...",
        "stp external import returned/ --model theirs --configfile config/paper.yaml",
    ),
)
def import_predictions(
    folder: Annotated[
        Path, typer.Argument(help="A folder with windows.json, index.csv and the predictions.")
    ],
    model: Annotated[
        str, typer.Option(help="Name of the model: lower-case letters, digits and _.")
    ],
    configfile: ConfigFile = DEMO,
    title: Annotated[str | None, typer.Option(help="Title of the model in tables.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="Source of the predictions: a paper or a URL.")
    ] = None,
    training: Annotated[
        str | None, typer.Option(help="What the model was trained on, as stated by the submitter.")
    ] = None,
    statistic: Annotated[
        str | None,
        typer.Option(
            help="How several members are scored: mean_of_members, ensemble_mean or "
            "best_of_members."
        ),
    ] = None,
    accept_values: Annotated[
        bool, typer.Option("--accept-values", help="Import even if values look wrong.")
    ] = False,
    accept_order: Annotated[
        bool,
        typer.Option("--accept-order", help="Import even if the order of samples looks wrong."),
    ] = False,
    accept_layout: Annotated[
        bool,
        typer.Option(
            "--accept-layout",
            help="Import even if frames look reversed, rolled, transposed or one frame early.",
        ),
    ] = False,
    log: Log = None,
) -> None:
    """Check predictions that were made elsewhere, and add them as a model.

    Completeness, shape, type, units, order and layout are checked, and that the windows are those
    of the prepared data. An error names the first wrong sample. Then config/models/MODEL.yaml lists
    the submission with its checksum, and a scale file can name the model like any other. A newer
    submission for the same test replaces the older one.
    """
    from stp.external import importing
    from stp.plan import config
    from stp.plan.cells import Plan
    from stp.run import runner
    from stp.run.progress import Progress

    plan = Plan(importing.without_external(config.load(configfile)))
    with runner.open_log(log) as file:
        lines = Progress("import", model, plan, file)
        done = importing.import_predictions(
            plan,
            folder,
            model,
            statement=importing.Statement(title, reference, training),
            statistic=statistic,
            accept_values=accept_values,
            accept_order=accept_order,
            accept_layout=accept_layout,
            report=lines.report,
        )
        for warning in done.warnings:
            lines.say(f"WARNING: {warning}")
        again = " in place of an older submission" if done.replaced else ""
        (raw_file,) = done.submission.release.files
        lines.say(f"wrote {plan.raw_folder / raw_file.path} and {done.entry}{again}")
        scale_file = _scale_file(configfile, plan.config.scale.scale)
        lines.say(f"now add {model} to `models:` in {scale_file}, and make the tables")


def _scale_file(configfile: Path, scale: str) -> str:
    """Text that names the user's own scale file, not the copy of it that the last run wrote."""
    from stp.run.results import RESULTS

    is_copy = configfile.parent == RESULTS / "plan"
    return f"the scale file of {scale} (its --configfile)" if is_copy else str(configfile)
