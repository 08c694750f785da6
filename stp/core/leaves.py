"""Modules that the configuration names: of a room, or of a leaf that no other room imports.

A leaf is a folder of `stp.datasets` (a raw layout) or of `stp.suites` (what one suite needs).
"""

from pathlib import Path

from stp.core.errors import StpError
from stp.core.fingerprint import SOURCE_FOLDER, module_files

DATASETS = "stp.datasets"


def find(candidates: list[str], folder: Path = SOURCE_FOLDER) -> str:
    """Choose the module that exists; the last one if none does.

    Args:
        candidates: names of modules, that of the generic room first.
        folder: the folder that holds the package.

    Raises:
        StpError: several exist.
    """
    modules = module_files(folder)
    present = [module for module in candidates if module in modules]
    if len(present) > 1:
        files = " and ".join(modules[module][0] for module in present)
        raise StpError(
            f"two modules have one name: {files}",
            expected="one module of each name",
            remedy="rename one of them, and its entry of the configuration",
        )
    return present[0] if present else candidates[-1]


def reader(name: str, folder: Path = SOURCE_FOLDER) -> str:
    """Name the module that reads a raw layout: ``own.reader`` of `stp.prepare`, or ``kth``.

    Raises:
        StpError: two modules have this name.
    """
    return find([f"stp.prepare.{name}", f"{DATASETS}.{name}.reader"], folder)


def generator(name: str) -> str:
    """Name the module that makes up a raw layout: ``kth``, or ``atlas.crowd`` of its folder."""
    return f"{DATASETS}.{name}" if "." in name else f"{DATASETS}.{name}.generator"


def generators() -> list[str]:
    """Name all modules of raw layouts that have a function ``generate``."""
    return sorted(
        module
        for module, (path, _) in module_files(SOURCE_FOLDER).items()
        if module.startswith(f"{DATASETS}.") and "\ndef generate(" in Path(path).read_text()
    )
