"""Write files that belong together: none is put in place before all are written."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from stp.core.disk import atomic_path, writing


def write_all(texts: Mapping[Path, str]) -> None:
    """Write several texts as files; the first file is put in place last.

    No file is put in place before all are written, so whoever finds the new first file also finds
    the new versions of the others.

    Args:
        texts: text of each file, by its path.

    Raises:
        StpError: the disk refuses.
    """
    with ExitStack() as stack:
        # The stack unwinds from the last entry to the first.
        for path, text in texts.items():
            stack.enter_context(writing(path))
            temporary = stack.enter_context(atomic_path(path))
            temporary.write_text(text, encoding="utf-8", newline="\n")
