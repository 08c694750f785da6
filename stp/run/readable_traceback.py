"""Shorten tracebacks to begin at the user's code: models, readers, metrics, losses.

The dozens of stack frames between a command and this code do not help to find the error.
"""

import os
import sysconfig
import traceback
from itertools import pairwise
from pathlib import Path

from stp.core.errors import StpError
from stp.core.fingerprint import not_python
from stp.core.project import own_modules

PACKAGE = Path(__file__).parents[1]
OPEN = (
    *("models", "tracks/predictors", "metrics", "prepare", "datasets", "suites"),
    "features/networks",
    *("train/losses", "train/schedules", "train/callbacks"),
)
"""Folders of the package to which users add modules."""
WHOLE = "STP_WHOLE_TRACEBACK"
"""Environment variable that, if set, makes tracebacks complete."""
_LIBRARIES = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib"))


def format_traceback(error: BaseException) -> str:
    """Format the traceback of an error without the stack frames that lead to the user's code.

    It begins at the first stack frame in a folder to which users add modules, such as ``models`` or
    ``metrics`` (`OPEN`). Frames of libraries are left out, except the last one, where the error was
    raised. Without a frame in these folders, the traceback is complete.
    """
    summary = traceback.TracebackException.from_exception(error)
    frames = list(summary.stack)
    first = next((i for i, frame in enumerate(frames) if _is_open(frame.filename)), None)
    if first is None or os.environ.get(WHOLE):
        return "".join(summary.format())
    own_frames = [frame for frame in frames[first:-1] if not _is_library(frame.filename)]
    own_frames.append(frames[-1])
    summary.stack = traceback.StackSummary.from_list(own_frames)
    text = "".join(summary.format())
    left_out = len(frames) - len(own_frames)
    return f"{text}({left_out} frames of stp and of libraries are left out; {WHOLE}=1 shows them)\n"


def readable_import_error(error: BaseException) -> StpError | None:
    """Convert an error raised during the import of a user's module to a readable one.

    Returns:
        an error with file and line. None for other errors, or if the environment variable
        ``STP_WHOLE_TRACEBACK`` asks for complete tracebacks.
    """
    if isinstance(error, StpError) or os.environ.get(WHOLE):
        return None
    if isinstance(error, SyntaxError) and error.filename and _is_open(error.filename):
        return not_python(error.filename, error)
    frames = list(traceback.extract_tb(error.__traceback__))
    of_import = [
        i
        for i, (before, frame) in enumerate(pairwise(frames), start=1)
        if frame.name == "<module>" and _is_open(frame.filename)
        if before.filename.startswith("<frozen importlib")
    ]
    if not of_import:
        return None
    where = next(frame for frame in reversed(frames[of_import[0] :]) if _is_open(frame.filename))
    remedy = f"correct it there; {WHOLE}=1 shows the whole traceback"
    if isinstance(error, ModuleNotFoundError) and error.name:
        remedy = f"install {error.name.partition('.')[0]}, or correct the import"
    return StpError(
        f"{where.filename}, line {where.lineno}: this cannot be imported "
        f"({type(error).__name__}: {error})",
        expected="a module that Python can import",
        remedy=remedy,
    )


def _is_open(file: str) -> bool:
    places = [*(PACKAGE / folder for folder in OPEN), *own_modules()]
    return any(Path(file).is_relative_to(place) for place in places)


def _is_library(file: str) -> bool:
    return file.startswith((*_LIBRARIES, "<"))
