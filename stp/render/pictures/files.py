"""Files of pictures: strips and movies of some samples of a case."""

from collections.abc import Sequence
from pathlib import Path

from stp.core.errors import StpError
from stp.plan.manifest import Manifest
from stp.render.pictures import movies, strips
from stp.render.pictures.forecasts import compare
from stp.render.pictures.ranked import ranked

STRIP, MOVIES = ".png", (".gif", ".mp4")


def draw(
    manifest: Manifest,
    case: str,
    outs: Sequence[Path],
    samples: Sequence[str] = ("median",),
    models: Sequence[str] = (),
    variable: str | None = None,
    errors: bool = False,
    rank_by: str | None = None,
) -> list[Path]:
    """Draw samples of a case.

    Args:
        manifest: of a dimension.
        case: see `stp.render.pictures.cases`.
        outs: .png for a strip, beside which an .svg is written; .gif or .mp4 for a movie. With
            several samples, the name of each is added to the names of its files.
        samples: see `stp.render.pictures.sample_choice.choose`.
        models: those to draw; all unless given.
        variable: the only one to draw.
        errors: whether movies show errors.
        rank_by: convention that orders the models; the order of the manifest unless given.

    Returns:
        the files.

    Raises:
        StpError: a name or a kind of file is not known, or predictions are missing or damaged.
    """
    for out in outs:
        if out.suffix not in (STRIP, *MOVIES):
            raise StpError(
                f"{out}: unknown kind of picture {out.suffix!r}",
                expected=f"{STRIP} for a strip, {' or '.join(MOVIES)} for a movie",
            )
    written = []
    for wanted in samples:
        shown = compare(manifest, case, wanted, models, variable)
        if rank_by is not None:
            shown = ranked(shown, manifest, case, rank_by)
        more = f"-{shown.chosen_by}" if len(samples) > 1 else ""
        named = [out.with_name(f"{out.stem}{more}{out.suffix}") for out in outs]
        for out in named:
            if out.suffix == STRIP:
                strips.write(shown, out)
                written += [out.with_suffix(".svg")]
        moving = [out for out in named if out.suffix in MOVIES]
        if moving:
            movies.write(shown, moving, errors)
        written += named
    return written
