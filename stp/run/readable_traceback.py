"""Tracebacks that begin where code of a user begins: models, readers, metrics, losses.

Between a verb and such code lie dozens of frames that say nothing about what is wrong with it.
"""

import os
import sysconfig
import traceback
from pathlib import Path

from stp.core.project import own_modules

PACKAGE = Path(__file__).parents[1]
OPEN = (
    *("models", "tracks/predictors", "metrics", "prepare", "features/networks"),
    *("train/losses", "train/schedules", "train/callbacks"),
)
"""Folders of the package that have a file for each thing of a kind: places for further ones."""
WHOLE = "STP_WHOLE_TRACEBACK"
"""Variable that, if set, asks for all frames."""
_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib"))


def readable(error: BaseException) -> str:
    """The traceback of an error, from the first frame in an open folder on.

    Of libraries it has the last frame alone, where the error was raised. An error that passed no
    open folder keeps all frames.
    """
    told = traceback.TracebackException.from_exception(error)
    frames = list(told.stack)
    first = next((i for i, frame in enumerate(frames) if _is_open(frame.filename)), None)
    if first is None or os.environ.get(WHOLE):
        return "".join(told.format())
    kept = [frame for frame in frames[first:-1] if not _is_library(frame.filename)]
    kept.append(frames[-1])
    told.stack = traceback.StackSummary.from_list(kept)
    said = "".join(told.format())
    left_out = len(frames) - len(kept)
    return f"{said}({left_out} frames of stp and of libraries are left out; {WHOLE}=1 shows them)\n"


def _is_open(file: str) -> bool:
    places = [*(PACKAGE / folder for folder in OPEN), *own_modules()]
    return any(Path(file).is_relative_to(place) for place in places)


def _is_library(file: str) -> bool:
    return file.startswith((*_LIBRARIES, "<"))
