"""What a core reads while it runs, compared with what the plan knows about it.

A fingerprint holds the modules that import statements name, the recipe and the inputs. Whatever
else a core reads (a module beside the package, a file beside a model) could change a number and
leave its path. So it is declared (``reads:`` in its entry of the configuration), or the job ends
where it is read. Python's audit events tell of opened files and imported compiled modules, in every
thread and in forked processes. Reading the environment raises no event, so a core runs in one that
holds only what belongs to the machine, and what its model declares (``environment:``).

Unseen are files that compiled libraries open by themselves (HDF5, DuckDB, FFmpeg), that spawned
processes and other programs read, and names of files in listed folders.
"""

import contextlib
import os
import site
import stat
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import source_from_cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from stp.core.canonical import PACKAGE
from stp.core.errors import StpError
from stp.core.fingerprint import SHELL_OF_CORES, SOURCE_FOLDER
from stp.core.project import name_of, own_modules

SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/nix/store", "/opt", "/proc", "/run", "/sbin",
          "/sys", "/usr")  # fmt: skip
"""What belongs to the machine and its software."""
SETTINGS = (
    *(".config", ".triton", ".nv"),
    *(".cache/fontconfig", ".cache/matplotlib", ".cache/numba"),
)
"""Folders of the home where libraries keep their settings and compiled code."""
VARIABLES = (
    *("HOME", "HOSTNAME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TMPDIR", "TZ", "USER"),
    *("LC_", "XDG_", "LD_", "DYLD_", "PYTHON", "VIRTUAL_ENV", "CONDA_", "SSL_", "SLURM_", "STP_"),
    *("OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "NUMBA_", "KMP_", "BLIS_", "GLIBC_", "MALLOC_"),
    *("CUDA", "CUBLAS_", "CUDNN_", "NVIDIA_", "NCCL_", "TORCH", "PYTORCH_", "TRITON_", "HIP_"),
    *("ROCR_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "HDF5_", "COVERAGE_", "PYTEST_"),
)
"""Beginnings of the names of variables that belong to the machine, its libraries and the job. They
stay in the environment of a core, and no core of ours asks for one."""

_CHECKOUT = f"{SOURCE_FOLDER}{os.sep}"
_OURS = (f"{_CHECKOUT}{PACKAGE}{os.sep}", *(f"{root}{os.sep}" for root in own_modules()))
_UNSEEN = "what its fingerprint knows: imports that are written out, its recipe and its inputs"
T = TypeVar("T")


@cache
def _installed() -> tuple[str, ...]:
    """Folders of Python, of installed packages and of the system."""
    named = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix]
    settings = [str(Path.home() / name) for name in SETTINGS]
    settings += filter(None, [os.environ.get("NUMBA_CACHE_DIR")])
    return _as_folders([*named, *prefixes, *SYSTEM, *settings])


def _absolute(name: str) -> str:
    """A path from the root, through the same links."""
    return os.path.abspath(name)  # noqa: PTH100 (Path.resolve follows links)


def _as_folders(names: Iterable[str]) -> tuple[str, ...]:
    found = {form for name in names for form in (_absolute(name), os.path.realpath(name))}
    return tuple(sorted(name.rstrip(os.sep) + os.sep for name in found if name != os.sep))


def _below(path: str, folders: tuple[str, ...]) -> bool:
    """Does a path lie in one of these folders?"""
    if path.startswith(_CHECKOUT):  # which may itself lie below /opt, or a folder of raw files
        folders = tuple(one for one in folders if one.startswith(_CHECKOUT))
    return path.startswith(folders)


def _is_installed(path: str) -> bool:
    """Does a file belong to Python, an installed package or the system, or is it about one?"""
    if path.startswith(_OURS):  # in a wheel among installed packages, but never one of them
        return False
    return _below(path, _installed()) or any(
        part.endswith((".egg-info", ".dist-info")) or part in ("site-packages", "dist-packages")
        for part in Path(path).parts
    )


@dataclass
class ReadAudit:
    """What a core may read.

    Attributes:
        what: the work, for errors: ``train of convlstm on kth, seed 0``.
        modules: of the package, that its fingerprint knows.
        folders: folders and files that belong to its job: inputs, raw files, output, state.
        declared: files of the checkout that its configuration declares.
        entries: where other ones can be declared, such as ``config/models/tau.yaml``.
        environment: variables that its model declares, with their values.
    """

    what: str
    modules: list[str]
    folders: list[str]
    declared: list[str]
    entries: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    _known: set[str] = field(default_factory=set, repr=False)
    _written: set[str] = field(default_factory=set, repr=False)
    _refused: StpError | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # Names of what a job may read are few, paths that it reads many.
        self._folders = _as_folders(self.folders)
        _installed()  # looks at the environment, which is watched later
        self._files = {*map(_absolute, (*self.declared, *self.folders))}
        parents = (name.split(".")[:i] for name in self.modules for i in range(1, 9))
        self._modules = {*self.modules, *map(".".join, parents), *SHELL_OF_CORES}

    def as_json(self) -> dict[str, object]:
        """The same for another process: ``ReadAudit(**...)``."""
        names = ("what", "modules", "folders", "declared", "entries", "environment")
        return {name: getattr(self, name) for name in names}

    def watch(self, work: Callable[[], T]) -> T:
        """Do some work of the core.

        Raises:
            StpError: it reads what nobody knows about. It is raised where that is read, and once
                more at the end if the core took no notice.
        """
        before = set(map(id, list(sys.modules.values())))  # other threads may import meanwhile
        try:
            with _watching(self):
                done = work()
        except Exception as error:
            if self._refused is None or error is self._refused:
                raise
            raise self._refused from error
        for name, module in list(sys.modules.items()):
            # The shell may have imported more of ours; __main__ may have got a second name.
            if id(module) not in before and name.partition(".")[0] != PACKAGE:
                self._see_module(module, "")
        if self._refused is not None:
            raise self._refused
        return done

    # What is read

    def opened(self, path: Any, mode: Any, flags: Any) -> None:
        """A file is opened."""
        if isinstance(path, int) or path is None:
            return
        name = os.fsdecode(path)
        if name in self._known:
            return
        writes = isinstance(mode, str) and not mode.startswith("r")
        if writes or (mode is None and isinstance(flags, int) and flags & os.O_CREAT):
            self._written.add(_absolute(name))
            return
        self.see(name)

    def see(self, name: str, reader: str | None = None) -> None:
        """Refuse a file that nobody knows about.

        Raises:
            StpError: it is one.
        """
        path = _absolute(name)
        if path in self._files or path in self._written or _below(path, self._folders):
            self._known.add(name)
            return
        source = _source(path)
        if source in self._files or self._is_module(source) or _is_installed(path):
            self._known.add(name)
            return
        try:
            if not stat.S_ISREG(Path(path).stat().st_mode):
                return
        except OSError:
            return
        if reader is None:
            reader = self._reader(sys._getframe(1))
        if reader is not None:
            self._refuse(f"{source} is read", reader, self._remedy(reader))

    def _see_module(self, module: object, reader: str) -> None:
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            self.see(file, reader)

    def _is_module(self, path: str) -> bool:
        """Is it a module of the package that the fingerprint knows?"""
        if not path.startswith(_OURS) or not path.endswith(".py"):
            return False
        if (own := name_of(Path(path))) is not None:
            return own in self._modules
        name = path.removeprefix(_CHECKOUT).removesuffix(".py").replace(os.sep, ".")
        return name.removesuffix(".__init__") in self._modules

    def _reader(self, frame: FrameType | None) -> str | None:
        """Who reads, as the name of a module; empty if nobody knows, None if that is the shell, or
        a traceback that shows lines of a source.

        The shell is around a core, and inside it where the core reports: what it calls there,
        modules that the fingerprint knows among it, reads for the shell.
        """
        reader, called_by_shell = "", False
        while frame is not None and frame.f_code is not ReadAudit.watch.__code__:
            name = str(frame.f_globals.get("__name__", ""))
            if name == "linecache":
                return None
            is_ours = name.partition(".")[0] == PACKAGE
            if name in self._modules or (not is_ours and _is_foreign(frame)):
                if called_by_shell:
                    return None
                reader = reader or name
            elif is_ours and name != __name__:
                if not reader:
                    return None
                called_by_shell = True
            frame = frame.f_back
        is_thread_of_shell = called_by_shell and frame is None
        return None if is_thread_of_shell else reader

    def _refuse(self, what: str, reader: str, remedy: str) -> None:
        by = f" by {reader}" if reader else ""
        error = StpError(f"{self.what}: {what}{by}", expected=_UNSEEN, remedy=remedy)
        self._refused = self._refused or error
        raise error

    def _remedy(self, reader: str) -> str:
        """How to declare a file: in the entry that is called like its reader, if there is one."""
        files = tuple(f"/{part}.yaml" for part in reader.split("."))
        named = [entry for entry in self.entries if entry.endswith(files)] or self.entries
        if not named:
            return "make it part of the code, by an import that names it, or of the configuration"
        places = " or ".join(map(str, [SOURCE_FOLDER, *(root.parent for root in own_modules())]))
        return (
            f"declare it in {' or '.join(named)}, `reads: [PATH]`, a path in {places}: its "
            "content is then part of every fingerprint of what is made with it"
        )


def _source(path: str) -> str:
    """What a file was compiled from, by Python or by `stp.core.compiled`; others are themselves."""
    if path.endswith(".pyc"):
        with contextlib.suppress(ValueError):
            return source_from_cache(path)
    made = Path(path)
    if made.suffix in (".nbi", ".nbc") and made.parent.name == "__pycache__":
        return str(made.parents[1] / f"{made.name.partition('.')[0]}.py")
    return path


def _is_foreign(frame: FrameType) -> bool:
    """Does its code belong to nothing that is installed?"""
    file = frame.f_code.co_filename
    return not file.startswith("<") and not _is_installed(file)


# The process: hooks that stay, and whoever watches now

_now: ReadAudit | None = None


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if _now is not None:
        if event == "open":
            _now.opened(*arguments)
        elif event == "import" and arguments[1]:  # a compiled module, which Python does not open
            _now.see(arguments[1])


@cache
def _listen() -> None:
    """Hear what this process opens, from now on: Python has no way to take that back."""
    sys.addaudithook(_hear)


@contextlib.contextmanager
def _watching(audit: ReadAudit) -> Iterator[None]:
    global _now
    _listen()
    outer, _now = _now, audit
    before = dict(os.environ)
    for name in before:
        if not name.startswith(VARIABLES):
            del os.environ[name]
    os.environ.update(audit.environment)
    try:
        yield
    finally:
        _now = outer
        for name in [name for name in audit.environment if name not in before]:
            os.environ.pop(name, None)
        os.environ.update(before)
