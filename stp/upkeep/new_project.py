"""Create a project folder, with a configuration, profiles, and the workflow of the package."""

import shutil
from importlib.metadata import version
from pathlib import Path

from stp.core.errors import StpError
from stp.core.project import MARK, MODULES, ORIGIN

SNAKEFILE = """\
# The workflow of the installed package. Rules of your own can follow.
from stp.core.project import WORKFLOW

include: str(WORKFLOW)
"""
OWN = """\
# Code of your own

`models/mine.py` in this folder is the module `stp.models.mine`; its entry is
`config/models/mine.yaml`. Metrics go into `metrics/`, readers of files into `datasets/<name>/`,
models of people into `tracks/predictors/`. docs/projects.md of stp says more.
"""
IGNORED = """\
.snakemake/
config/site.yaml
results/
slurm_logs/
"""
COPIED = ("config", "profiles")
PROFILES = ("local", "slurm")
"""Profiles of a run, which Snakemake finds by their names beside the Snakefile."""


def create(folder: Path) -> None:
    """Create a project: a folder for work with the installed package, outside of its checkout.

    The folder gets copies of the package's configuration (``config/``) and Snakemake profiles, a
    Snakefile that includes the package's workflow, the empty folders ``modules/`` (for code of the
    user's own) and ``results/``, and a file that marks it as a project.

    Args:
        folder: the new folder; it may exist if it is empty.

    Raises:
        StpError: the folder has files, which could be lost, or a name like that of an option.
    """
    if not folder.absolute().name[:1].isalnum():
        raise StpError(
            f"{folder.name!r} cannot be the name of a project",
            expected="a letter or digit first: commands would take `-rf` for an option",
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StpError(f"{folder} exists and is not an empty folder", remedy="name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        ignored = shutil.ignore_patterns("site.yaml")  # it belongs to the site of the checkout
        shutil.copytree(ORIGIN / name, folder / name, ignore=ignored)
    for name in PROFILES:
        (folder / name).symlink_to(Path("profiles", name))
    (folder / "Snakefile").write_text(SNAKEFILE)
    (folder / ".gitignore").write_text(IGNORED)
    (folder / "results").mkdir()
    (folder / MODULES).mkdir()
    (folder / MODULES / "README.md").write_text(OWN)
    (folder / MARK).write_text(f"made by stp {version('stp')}\n")
