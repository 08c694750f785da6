"""Paths of configuration, workflow and profiles, and of a user's own modules.

Configuration, workflow and profiles lie beside the package in a checkout, and inside it in a wheel
(setup.py). A folder made by `stp init` has its own configuration and profiles.

A user's own modules lie in such a folder, or in an extension, an installed package that registers
itself by an entry point. Its file ``modules/models/mine.py`` is imported as ``stp.models.mine``.
A user's own modules are fingerprinted like those of the package.
"""

import os
import stat
import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from stp.core.canonical import PACKAGE
from stp.core.errors import StpError

_PACKAGE = Path(__file__).parents[1]
_PACKED = _PACKAGE / "project"
IS_CHECKOUT = not _PACKED.is_dir()
ORIGIN = _PACKAGE.parent if IS_CHECKOUT else _PACKED
"""The folder with config/, profiles/ and workflow/ that belong to this package."""
WORKFLOW = ORIGIN / "workflow" / "Snakefile"
MARK = ".stp-project"
"""Name of the file that marks the folder of a project, and holds the version that made it."""
MODULES = "modules"
"""The folder of a project, or of an extension, that adds modules to the package."""
EXTENSIONS = "stp.extensions"
"""Group of the entry points of packages that extend this one."""
LEFT_OUT = "STP_EXTENSIONS_LEFT_OUT"
"""Environment variable that tells child processes which missing extensions were reported."""
TRUSTED = "STP_TRUSTED_PROJECTS"
"""Environment variable with folders, separated by colons, of projects that are trusted although
other users own them or may write to them."""


def project_folder(start: Path) -> Path | None:
    """Find the project (folder made by `stp init`) that contains a folder; None if there is none.

    Args:
        start: a folder inside the project, or the project folder itself.

    Raises:
        StpError: another user owns the project, or all users may write to it, so code of others
            would run with the rights of this user (compare git's `safe.directory`).
    """
    folders = (start, *start.parents)
    folder = next((folder for folder in folders if (folder / MARK).is_file()), None)
    if folder is not None:
        _require_trusted(folder)
    return folder


def _require_trusted(folder: Path) -> None:
    trusted = filter(None, os.environ.get(TRUSTED, "").split(os.pathsep))
    if folder.resolve() in (Path(name).resolve() for name in trusted):
        return
    users = {0, os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        users.add(int(os.environ["SUDO_UID"]))
    for path in (folder, folder / MARK, folder / MODULES, folder / "config"):
        if not path.exists():
            continue
        status = path.stat()
        problem = ""
        if status.st_uid not in users or path.lstat().st_uid not in users:
            problem = f"belongs to another user ({status.st_uid})"
        elif status.st_mode & stat.S_IWOTH:
            problem = "can be written to by all users"
        if problem:
            raise StpError(
                f"{path} {problem}, and code of the project {folder} would run as yours",
                expected="the project of this user, or of root",
                remedy=f"work outside of {folder}, change the owner or the mode, or, if you trust "
                f"all who can write there, set {TRUSTED}={folder}",
            )


def config_folder(start: Path) -> Path:
    """Find the configuration folder for work in a folder.

    Args:
        start: the folder.

    Returns:
        ``config`` of the project that contains the folder or, outside of projects, ``config`` of
        this package.

    Raises:
        StpError: the project is not trusted (see `project_folder`).
    """
    return (project_folder(start) or ORIGIN) / "config"


@cache
def extensions() -> tuple[Path, ...]:
    """List the folders of extensions: installed packages that extend this one.

    An extension registers itself by an entry point of the group ``stp.extensions``, whose value is
    the name of its package. One that cannot be found is reported on standard error and skipped,
    since most work does not need it.

    Returns:
        folders of the packages, sorted by the names of their entry points.
    """
    folders, missing = [], []
    for point in sorted(entry_points(group=EXTENSIONS), key=lambda point: point.name):
        try:
            spec = find_spec(point.value)
            locations = (spec and spec.submodule_search_locations) or ()
            folders.append(Path(next(iter(locations))))
        except Exception as error:  # finding `a.b` imports `a`, which may raise anything
            why = "no such package" if isinstance(error, StopIteration) else repr(error)
            source = point.dist.name if point.dist else "an installed package"
            missing.append(f"{point.name} = {point.value} of {source} ({why})")
    # Jobs inherit the variable, so that it is reported once.
    if missing and os.environ.get(LEFT_OUT) != (listed := "; ".join(missing)):
        os.environ[LEFT_OUT] = listed
        print(
            f"stp: extensions that cannot be found are left out: {listed}; install them again, or "
            f"remove the package that declares the entry point in {EXTENSIONS}",
            file=sys.stderr,
        )
    return tuple(folders)


@cache
def own_modules() -> tuple[Path, ...]:
    """List the folders with a user's own modules: the current project's, then the extensions'."""
    project = project_folder(Path.cwd())
    roots = [*([project] if project else []), *extensions()]
    return tuple(root / MODULES for root in roots if (root / MODULES).is_dir())


def name_of(path: Path) -> str | None:
    """Full name of a user's own module, e.g. ``stp.models.mine``; None for other files.

    Args:
        path: path of the file, e.g. ``modules/models/mine.py`` below the folder of a project.
    """
    for root in own_modules():
        if path.is_relative_to(root) and path.suffix == ".py":
            parts = path.relative_to(root).with_suffix("").parts
            return ".".join([PACKAGE, *parts]).removesuffix(".__init__")
    return None


def place_of(name: str, source: Path) -> Path:
    """Find the folder to which a relative path in the configuration is relative.

    Such a path, as under the key ``reads`` of a model, may name a file of the package, of the
    project, or of an extension.

    Args:
        name: relative path of a file or folder.
        source: folder that contains the package.

    Returns:
        the first folder in which the path exists: ``source``, the project, or an extension;
        ``source`` if it exists in none.
    """
    roots = (source, *(root.parent for root in own_modules()))
    return next((root for root in roots if (root / name).exists()), source)


def check_own_modules() -> None:
    """Refuse a user's own module that never runs because another module of that name comes first.

    The other module belongs to the package, to the project or to an extension.

    Raises:
        StpError: such a module exists; the error names both files.
    """
    paths: dict[Path, Path] = {}
    for root in own_modules():
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root)
            first = paths.setdefault(name, path)
            other = _PACKAGE / name if (_PACKAGE / name).is_file() else first
            if other != path:
                raise StpError(
                    f"{path} has the name of {other}",
                    remedy="rename it, and its entry in the configuration",
                )


class _Finder:
    """Import hook by which Python searches the package first, and then `own_modules`."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`."""
        if not name.startswith(f"{PACKAGE}.") or path is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.submodule_search_locations is not None:
            spec.submodule_search_locations = _add_own_folders(
                name, spec.submodule_search_locations
            )
        return spec


def _add_own_folders(package: str, folders: Sequence[str]) -> list[str]:
    parts = package.split(".")[1:]
    further = [str(root.joinpath(*parts)) for root in own_modules()]
    return [*folders, *(name for name in further if name not in folders and Path(name).is_dir())]


def _find_own_modules() -> None:
    """Make a user's own modules importable, also in packages that are imported already."""
    if not own_modules():
        return
    sys.meta_path.insert(0, _Finder)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == PACKAGE and hasattr(module, "__path__"):
            module.__path__ = _add_own_folders(name, list(module.__path__))


_find_own_modules()
