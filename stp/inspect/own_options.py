"""Check options of the user's own data before a run."""

from stp.core.errors import StpError
from stp.plan.cells import Plan

OWN_READER = "own.reader"


def check(plan: Plan) -> None:
    """Check the options of all datasets of a plan that have the reader for own data.

    Raises:
        StpError: an option is unknown or invalid, such as shares of more than 1 or axes with an
            unknown letter.
    """
    options_by_dataset = {
        str(artefact.recipe["dataset"]): artefact.recipe["options"]
        for cell in plan.cells
        for artefact in cell.artefacts
        if artefact.stage == "prepare"
    }
    for name, options in options_by_dataset.items():
        if plan.config.datasets[name].reader == OWN_READER:
            _check(name, options)


def _check(name: str, options: dict[str, object]) -> None:
    # The reader imports libraries that a plan of other data does not need.
    from stp.prepare.own.reader import build_options

    try:
        build_options(options)
    except StpError as error:
        raise StpError(
            f"dataset {name}, prepare: {error.what}",
            expected=error.expected,
            remedy=error.remedy or f"change config/datasets/{name}.yaml (docs/own_data.md)",
        ) from None
