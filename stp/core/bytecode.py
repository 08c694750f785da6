"""Check that Python runs the sources whose hashes are in fingerprints, not stale bytecode."""

import sys
from collections.abc import Iterable
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source
from pathlib import Path

from stp.core.errors import StpError
from stp.core.fingerprint import SOURCE_FOLDER, source_cache
from stp.core.json_files import Json


def refuse_stale(modules: Iterable[str]) -> None:
    """Raise an error if a module's cached bytecode (.pyc) does not match its source.

    Python uses a cached .pyc file if the source still has the recorded time and size. A copy that
    preserves times (rsync -t, tar) can have both although its content differs.

    Args:
        modules: full names of modules; modules that are not imported are skipped.

    Raises:
        StpError: the bytecode of a module differs from what its source compiles to.
    """
    cached = source_cache(SOURCE_FOLDER, "compiled", Path(__file__))
    for module in modules:
        loader = getattr(sys.modules.get(module), "__loader__", None)
        if isinstance(loader, SourceFileLoader):
            source = Path(loader.get_filename())
            compiled = Path(cache_from_source(source))
            contents = source.read_bytes(), compiled.read_bytes() if compiled.is_file() else b""
            cached.get(module, b"\0".join(contents), partial(_compare, module, loader))
    cached.save()


def _compare(module: str, loader: SourceFileLoader, _: bytes) -> Json:
    """Compare a module's compiled code with its source, compiled anew.

    Compilation is slow, so a success is cached as an empty analysis.
    """
    source = Path(loader.get_filename())
    if loader.get_code(module) != compile(source.read_bytes(), source, "exec", dont_inherit=True):
        raise StpError(
            f"the compiled code of {source} is not that of its source",
            remedy=f"delete it: rm -r {source.parent / '__pycache__'}, and run again",
        )
    return {}
