"""Draw pictures of the clips of a prepared dataset, for ``stp draw clips``."""

from importlib import import_module
from pathlib import Path

from stp.core.errors import StpError
from stp.inspect.counts import prepared_folder
from stp.plan.cells import Plan
from stp.plan.checked_config import check_known


def show(
    plan: Plan,
    name: str,
    out: Path,
    *,
    split: str = "test",
    clips: int = 4,
    variable: str | None = None,
    level: str | None = None,
) -> Path:
    """Draw a few clips of a prepared dataset.

    Args:
        plan: plan with the dataset.
        name: name of the dataset.
        out: path of the file: .png for a contact sheet, .gif or .mp4 for a movie. For datasets of
            people, .png, .svg or .pdf shows all tracks on the map, .gif or .mp4 the busiest
            moments.
        split: name of the split: train, val, test, or another split of the index.
        clips: number of clips, spread evenly over the split.
        variable: name of the only variable to draw. None for all variables if the data have one or
            two, else for the first.
        level: level of the variable, if there are several.

    Returns:
        path of the file.

    Raises:
        StpError: the dataset is not prepared, or a name is unknown.
    """
    check_known(name, plan.config.datasets, "dataset", "stp draw clips")
    pictures = import_module(plan.recipes.samples(name).prepared_pictures)
    if out.suffix not in pictures.FORMATS:
        raise StpError(
            f"{out}: unknown kind of picture {out.suffix!r}",
            expected=" or ".join(pictures.FORMATS),
        )
    folder = prepared_folder(plan, name)
    pictures.draw_prepared(
        folder, out, name=name, split=split, clips=clips, variable=variable, level=level
    )
    return out
