"""Write pictures of forecasts to files: strips (rows of frames) and movies."""

from collections.abc import Sequence
from pathlib import Path

from stp.core.errors import StpError
from stp.plan.manifest import Manifest
from stp.render.pictures import movies, strips
from stp.render.pictures.forecasts import compare
from stp.render.pictures.ranked import rank_forecasts

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
    """Draw forecasts of all models for some samples of a test, and write the pictures.

    Args:
        manifest: list of the models and tests of a dimension (one table of the benchmark).
        case: name of the test: training and test dataset, such as ``kitti-caltech``.
        outs: paths of the files: .png for a strip (an .svg is written as well), .gif or .mp4 for a
            movie. With several samples, the name of the sample is added to the file names.
        samples: for each sample, its index, or a rule: ``median``, ``hardest`` or ``easiest`` by
            error.
        models: names of the models to draw; empty for all.
        variable: name of the only variable to draw; None for the variables of the table columns.
        errors: whether movies show the errors of the forecasts, too.
        rank_by: exact definition of the metric that orders the models, such as ``ssim.range2``;
            None for the order of the manifest.

    Returns:
        paths of the files.

    Raises:
        StpError: a name or file type is unknown, two samples would be written to the same path, or
            predictions are missing or damaged.
    """
    for out in outs:
        if out.suffix not in (STRIP, *MOVIES):
            raise StpError(
                f"{out}: unknown kind of picture {out.suffix!r}",
                expected=f"{STRIP} for a strip, {' or '.join(MOVIES)} for a movie",
            )
    chosen = []
    sample_of: dict[Path, str] = {}
    for sample in samples:
        forecasts = compare(manifest, case, sample, models, variable)
        if rank_by is not None:
            forecasts = rank_forecasts(forecasts, manifest, case, rank_by)
        suffix = f"-{forecasts.chosen_by}" if len(samples) > 1 else ""
        files = [out.with_name(f"{out.stem}{suffix}{out.suffix}") for out in outs]
        for out in files:
            if out in sample_of:
                raise StpError(
                    f"sample {sample!r} has the same file as {sample_of[out]!r}: {out} "
                    f"({forecasts.why})",
                    remedy="name each sample and each file once; numbers choose other samples",
                )
            sample_of[out] = sample
        chosen.append((forecasts, files))
    written = []
    for forecasts, files in chosen:
        for out in files:
            if out.suffix == STRIP:
                strips.write(forecasts, out)
                written += [out.with_suffix(".svg")]
        moving = [out for out in files if out.suffix in MOVIES]
        if moving:
            movies.write(forecasts, moving, errors)
        written += files
    return written
