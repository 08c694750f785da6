"""The compiled code that runs is that of the sources that the fingerprint has seen."""

import sys
from collections.abc import Iterable
from importlib.machinery import SourceFileLoader
from pathlib import Path

from stp.core.errors import StpError


def refuse_stale(modules: Iterable[str]) -> None:
    """Refuse to run another code than the sources say.

    Python takes compiled code for a source's if time and size are equal; copying tools that keep
    times (rsync -t, tar) can bring about both with other content.

    Args:
        modules: names of modules; those that are not imported are left out.

    Raises:
        StpError: a module's compiled code is not that of its source.
    """
    for module in modules:
        loader = getattr(sys.modules.get(module), "__loader__", None)
        if not isinstance(loader, SourceFileLoader):
            continue
        source = Path(loader.get_filename())
        meant = compile(source.read_bytes(), source, "exec", dont_inherit=True)
        if loader.get_code(module) != meant:
            raise StpError(
                f"the compiled code of {source} is not that of its source",
                expected="a __pycache__ made from these files",
                remedy=f"delete it: rm -r {source.parent / '__pycache__'}, and run again",
            )
