"""A copy of the package to edit, for plans of its code."""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
REMEMBERED = Path("stp", "__pycache__", "meanings.json")
"""What `stp.core.fingerprint` remembers of sources, which takes seconds to find out again."""


def copy_package(folder: Path) -> None:
    """Copy the package into a folder, without compiled modules."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "stp", folder / "stp", ignore=ignored)
    if (ROOT / REMEMBERED).is_file():
        (folder / REMEMBERED).parent.mkdir()
        shutil.copy2(ROOT / REMEMBERED, folder / REMEMBERED)
