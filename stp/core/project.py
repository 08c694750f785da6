"""Where the files of the project are that are no modules: configuration, workflow, profiles.

In a checkout they lie beside the package, in a wheel inside it (setup.py). A folder that `stp init`
has made has its own configuration and profiles.

Modules of a user's own lie in such a folder as well, or in an installed package that names itself
by an entry point: ``modules/models/mine.py`` there is ``stp.models.mine``. All of the package finds
them by their names like its own ones, and the plan reads their sources like those.
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
"""A file that marks the folder of a project; it names the version that made it."""
MODULES = "modules"
"""The folder of a project, or of an extension, that adds modules to the package."""
EXTENSIONS = "stp.extensions"
"""The group of entry points by which packages say that they add to this one."""
LEFT_OUT = "STP_EXTENSIONS_LEFT_OUT"
"""Variable that a process sets for its children: the extensions that it has said to leave out."""


TRUSTED = "STP_TRUSTED_PROJECTS"
"""Variable that names folders of projects that others may write to, with colons between."""


def project_folder(start: Path) -> Path | None:
    """The folder of the project around a folder; None if there is none.

    Raises:
        StpError: another user owns it, or everybody may write to it: what lies in a parent folder
            would run as code of this user. (git has `safe.directory` for this.)
    """
    folder = next((one for one in (start, *start.parents) if (one / MARK).is_file()), None)
    if folder is not None:
        _require_trusted(folder)
    return folder


def _require_trusted(folder: Path) -> None:
    named = filter(None, os.environ.get(TRUSTED, "").split(os.pathsep))
    if folder.resolve() in (Path(name).resolve() for name in named):
        return
    users = {0, os.geteuid()}
    if os.geteuid() == 0 and os.environ.get("SUDO_UID", "").isdecimal():
        users.add(int(os.environ["SUDO_UID"]))
    for path in (folder, folder / MARK, folder / MODULES, folder / "config"):
        if not path.exists():
            continue
        about = path.stat()
        problem = ""
        if about.st_uid not in users or path.lstat().st_uid not in users:
            problem = f"belongs to another user ({about.st_uid})"
        elif about.st_mode & stat.S_IWOTH:
            problem = "can be written to by everybody"
        if problem:
            raise StpError(
                f"{path} {problem}, and code of the project {folder} would run as yours",
                expected="the project of this user, or of root",
                remedy=f"work outside of {folder}, change the owner or the mode, or, if you trust "
                f"all who can write there, set {TRUSTED}={folder}",
            )


def config_folder(start: Path) -> Path:
    """The configuration that counts in a folder: of the project around it, or the package's."""
    return (project_folder(start) or ORIGIN) / "config"


@cache
def extensions() -> tuple[Path, ...]:
    """Folders of installed packages that add to this one, in the order of their entry points.

    A package that cannot be found is named on standard error and left out: it is no reason to
    refuse what needs nothing of it.
    """
    found, lost = [], []
    for point in sorted(entry_points(group=EXTENSIONS), key=lambda point: point.name):
        try:
            spec = find_spec(point.value)
            locations = (spec and spec.submodule_search_locations) or ()
            found.append(Path(next(iter(locations))))
        except Exception as error:  # finding `a.b` imports `a`, which may raise anything
            why = "no such package" if isinstance(error, StopIteration) else repr(error)
            source = point.dist.name if point.dist else "an installed package"
            lost.append(f"{point.name} = {point.value} of {source} ({why})")
    # Jobs inherit the variable: what has been told once is not told by each of them.
    if lost and os.environ.get(LEFT_OUT) != (told := "; ".join(lost)):
        os.environ[LEFT_OUT] = told
        print(
            f"stp: extensions that cannot be found are left out: {told}; install them again, or "
            f"remove the package that declares the entry point in {EXTENSIONS}",
            file=sys.stderr,
        )
    return tuple(found)


@cache
def own_modules() -> tuple[Path, ...]:
    """Folders that add modules to the package: of the project around, and of extensions."""
    project = project_folder(Path.cwd())
    roots = [*([project] if project else []), *extensions()]
    return tuple(root / MODULES for root in roots if (root / MODULES).is_dir())


def name_of(path: Path) -> str | None:
    """What a file is called as a module that is added to the package; None if it is none."""
    for root in own_modules():
        if path.is_relative_to(root) and path.suffix == ".py":
            parts = path.relative_to(root).with_suffix("").parts
            return ".".join([PACKAGE, *parts]).removesuffix(".__init__")
    return None


def place_of(name: str, source: Path) -> Path:
    """The folder that a declared path begins at: that of the package, or one with modules of a
    user's, whichever has it.

    Args:
        name: the path of a file or folder.
        source: the folder that holds the package; taken where nothing has it.
    """
    roots = (source, *(root.parent for root in own_modules()))
    return next((root for root in roots if (root / name).exists()), source)


def check_own_modules() -> None:
    """Refuse modules that have the name of another one, which would be run instead.

    Raises:
        StpError: there is one.
    """
    known: dict[str, Path] = {}
    for root in own_modules():
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root)
            first = known.setdefault(str(inside), path)
            other = _PACKAGE / inside if (_PACKAGE / inside).is_file() else first
            if other != path:
                raise StpError(
                    f"{path} has the name of {other}",
                    expected="modules with names of their own",
                    remedy="rename it, and its entry of the configuration",
                )


class _Finder:
    """Lets packages of ours search the folders of `own_modules`, after their own."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What `importlib` asks for each module that is imported."""
        if not name.startswith(f"{PACKAGE}.") or path is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.submodule_search_locations is not None:
            spec.submodule_search_locations = _extended(name, spec.submodule_search_locations)
        return spec


def _extended(package: str, folders: Sequence[str]) -> list[str]:
    parts = package.split(".")[1:]
    further = [str(root.joinpath(*parts)) for root in own_modules()]
    return [*folders, *(name for name in further if name not in folders and Path(name).is_dir())]


def _find_own_modules() -> None:
    """Have Python find them from now on, in packages that it has imported already as well."""
    if not own_modules():
        return
    sys.meta_path.insert(0, _Finder)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == PACKAGE and hasattr(module, "__path__"):
            module.__path__ = _extended(name, list(module.__path__))


_find_own_modules()
