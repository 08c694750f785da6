"""Read and check predictions that were made elsewhere and imported."""

from pathlib import Path

import numpy as np

from stp.core.errors import StpError
from stp.core.job import Extras, Job, Recipe
from stp.data.prepared import Clips, Prepared
from stp.data.raw_files import RawFiles
from stp.data.zarr_write import SequentialWriter
from stp.predict.output import create_predictions
from stp.predict.windows import window_checksum, windows_checksum

BLOCK_BYTES = 64_000_000
"""Size of forecasts that are read at a time, bytes."""


def run(job: Job) -> Extras:
    """Check predictions that were made elsewhere, and store them like those of `stp.predict.run`.

    They are written to ``predictions.zarr``, with the clips in ``index.parquet``.

    Args:
        job: job with the inputs ``data`` (the prepared data) and ``external``, the lock file
            (checksum) of one .npy file: float32, (sample, [member,] lead, C, H, W), in the
            dataset's units. Runtime: ``raw_roots``, the folders that are searched for this file.
            Keys of the recipe:

            - ``model``: name of the model.
            - ``context``, ``lead_times``: numbers of context frames and of predicted frames.
            - ``split``: predicted split or subset.
            - ``submission``: ``{"windows": CHECKSUM}``, the checksum of the predicted windows
              (`stp.predict.windows.windows_checksum`).
            - ``predict``: ``{"samples": M}`` for M members, or ``{}`` for one forecast.
            - ``interval`` (optional): spacing of the frames of a clip; 1 by default.

    Returns:
        facts for the receipt: numbers of samples, members and lead times.

    Raises:
        StpError: the file is missing, differs from the lock file or does not fit the data, or was
            predicted from windows that are not in the data.
    """
    recipe = job.recipe
    data = Prepared(job.inputs["data"])
    clips = data.clips(recipe["split"], interval=recipe.get("interval", 1))
    raw = RawFiles(job.inputs["external"], job.runtime["raw_roots"])
    (name,) = raw.names
    path = raw.find(name)
    forecasts = _open(path, recipe, data, clips)
    windows: list[tuple[str, str]] = []
    names = [str(clip) for clip in clips.index["clip"]]
    block = max(1, BLOCK_BYTES // max(1, forecasts[:1].nbytes))
    shape = forecasts.shape[1:] if forecasts.ndim == 6 else (1, *forecasts.shape[1:])
    numbers = np.arange(len(forecasts))
    stored = create_predictions(job.out, recipe, data.attrs, shape, numbers, external=True)
    with SequentialWriter(stored) as writer:
        for start in range(0, len(clips), block):
            stop = min(start + block, len(clips))
            frames = clips.read(range(start, stop), length=recipe["context"])
            windows += [(names[start + i], window_checksum(one)) for i, one in enumerate(frames)]
            values = np.asarray(forecasts[start:stop])
            bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
            if bad.any():
                sample = start + int(bad.argmax())
                raise StpError(
                    f"{path}: sample {sample} ({names[sample]}) has values that are not finite",
                    remedy="correct the predictions, and import them again",
                )
            writer.append(values)
            job.report("samples read", stop, len(clips))
    if windows_checksum(windows) != recipe["submission"]["windows"]:
        raise StpError(
            f"{path}: these predictions were made from other windows than those of {data.folder}",
            expected=f"windows of identity {recipe['submission']['windows']}",
            remedy="`stp external import` of the same folder names the first different window; "
            "export the windows again, and predict them",
        )
    clips.index.to_parquet(job.out / "index.parquet", index=False, write_page_checksum=True)
    return {
        "samples": len(clips),
        "members": recipe["predict"].get("samples", 1),
        "lead_times": recipe["lead_times"],
    }


def _open(path: Path, recipe: Recipe, data: Prepared, clips: Clips) -> np.ndarray:
    """Map the forecasts and check their shape."""
    try:
        forecasts: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise StpError(
            f"{path}: cannot be read ({error})",
            expected="a .npy file as `stp external import` writes it",
            remedy="import the predictions again",
        ) from error
    members = recipe["predict"].get("samples", 1)
    several = (members,) if members > 1 else ()
    shape = (len(clips), *several, recipe["lead_times"], *data.shape)
    if forecasts.shape != shape or forecasts.dtype != np.float32:
        raise StpError(
            f"{path}: {forecasts.dtype} of shape {forecasts.shape}",
            expected=f"float32 of shape {shape}",
            remedy="import the predictions again, for the data as they are now",
        )
    return forecasts
