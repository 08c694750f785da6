"""The compiled code that runs is that of the sources that the fingerprint has seen."""

import sys
from collections.abc import Iterable
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

from stp.core.errors import StpError
from stp.core.fingerprint import SOURCE_FOLDER, remembered


def refuse_stale(modules: Iterable[str]) -> None:
    """Refuse to run another code than the sources say.

    Python takes compiled code for a source's if time and size are equal; copying tools that keep
    times (rsync -t, tar) can bring about both with other content.

    Args:
        modules: names of modules; those that are not imported are left out.

    Raises:
        StpError: a module's compiled code is not that of its source.
    """
    memory = remembered(SOURCE_FOLDER, "compiled", Path(__file__))
    for module in modules:
        loader = getattr(sys.modules.get(module), "__loader__", None)
        if isinstance(loader, SourceFileLoader):
            source = Path(loader.get_filename())
            compiled = Path(cache_from_source(source))
            both = source.read_bytes(), compiled.read_bytes() if compiled.is_file() else b""
            memory.of(module, b"\0".join(both), partial(_compared, module, loader))
    memory.save()


def _compared(module: str, loader: SourceFileLoader, _: bytes) -> dict[str, Any]:
    """Compile a module's source and compare, which takes long; nothing is found but equality."""
    source = Path(loader.get_filename())
    if loader.get_code(module) != compile(source.read_bytes(), source, "exec", dont_inherit=True):
        raise StpError(
            f"the compiled code of {source} is not that of its source",
            expected="a __pycache__ made from these files",
            remedy=f"delete it: rm -r {source.parent / '__pycache__'}, and run again",
        )
    return {}
