"""Where the files of the project are that are no modules: configuration, workflow, profiles.

In a checkout they lie beside the package, in a wheel inside it (setup.py). A folder that `stp init`
has made has its own configuration and profiles.
"""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]
_PACKED = _PACKAGE / "project"
IS_CHECKOUT = not _PACKED.is_dir()
ORIGIN = _PACKAGE.parent if IS_CHECKOUT else _PACKED
"""The folder with config/, profiles/ and workflow/ that belong to this package."""
WORKFLOW = ORIGIN / "workflow" / "Snakefile"
MARK = ".stp-project"
"""A file that marks the folder of a project; it names the version that made it."""


def config_folder(start: Path) -> Path:
    """The configuration that counts in a folder: of the project around it, or the package's."""
    for folder in (start, *start.parents):
        if (folder / MARK).is_file():
            return folder / "config"
    return ORIGIN / "config"
