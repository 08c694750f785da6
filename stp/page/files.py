"""Writing files that belong together."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from stp.core.disk import beside, writing


def write_all(texts: Mapping[Path, str]) -> None:
    """Write several texts; the first, which stands for all, is put in place last.

    None is put in place before all are written, so where the first is new, all are.

    Raises:
        StpError: the disk refuses.
    """
    with ExitStack() as stack:
        # The stack unwinds from the last entry to the first.
        for path, text in texts.items():
            stack.enter_context(writing(path))
            temporary = stack.enter_context(beside(path))
            temporary.write_text(text, encoding="utf-8", newline="\n")
