"""Audit the files that a job reads: a file that its fingerprint does not cover ends the job.

The audited code is the core, the function that does the work. A fingerprint covers the modules that
import statements name, the recipe and the inputs. Any other
file that a core reads (a module beside the package, a file beside a model) could change the result
without changing its path, so it has to be declared (``reads:`` in the configuration). Python raises
audit events for opened files and imported extension modules, in every thread and in forked
processes. Reading environment variables raises no event, so a core runs with the variables of the
machine and those that its model declares (``environment:``), and no others.

The audit does not notice files that compiled libraries open by themselves (HDF5, DuckDB, FFmpeg),
files that spawned processes and other programs read, and names of files in listed folders.
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
"""Folders of the machine and its software."""
SETTINGS = (
    *(".config", ".triton", ".nv"),
    *(".cache/fontconfig", ".cache/matplotlib", ".cache/numba"),
)
"""Folders, relative to the home folder, where libraries keep their settings and compiled code."""
VARIABLES = (
    *("HOME", "HOSTNAME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TMPDIR", "TZ", "USER"),
    *("LC_", "XDG_", "LD_", "DYLD_", "PYTHON", "VIRTUAL_ENV", "CONDA_", "SSL_", "SLURM_", "STP_"),
    *("OMP_", "MKL_", "OPENBLAS_", "NUMEXPR_", "NUMBA_", "KMP_", "BLIS_", "GLIBC_", "MALLOC_"),
    *("CUDA", "CUBLAS_", "CUDNN_", "NVIDIA_", "NCCL_", "TORCH", "PYTORCH_", "TRITON_", "HIP_"),
    *("ROCR_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_RANK", "HDF5_", "COVERAGE_", "PYTEST_"),
)
"""Prefixes of variables of the machine, its libraries and the job. They stay in the environment of
a core; no core of stp reads one."""

_CHECKOUT = f"{SOURCE_FOLDER}{os.sep}"
_OURS = (f"{_CHECKOUT}{PACKAGE}{os.sep}", *(f"{root}{os.sep}" for root in own_modules()))
_UNSEEN = "files that its fingerprint covers: imported modules, its recipe and its inputs"
T = TypeVar("T")


@cache
def _installed_folders() -> tuple[str, ...]:
    folders = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix]
    settings = [str(Path.home() / name) for name in SETTINGS]
    settings += filter(None, [os.environ.get("NUMBA_CACHE_DIR")])
    return _as_folders([*folders, *prefixes, *SYSTEM, *settings])


def _absolute_path(name: str) -> str:
    """Make a path absolute without resolving links."""
    return os.path.abspath(name)  # noqa: PTH100 (Path.resolve follows links)


def _as_folders(names: Iterable[str]) -> tuple[str, ...]:
    forms = {form for name in names for form in (_absolute_path(name), os.path.realpath(name))}
    return tuple(sorted(name.rstrip(os.sep) + os.sep for name in forms if name != os.sep))


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    if path.startswith(_CHECKOUT):  # may itself be below /opt, or a folder of raw files
        folders = tuple(folder for folder in folders if folder.startswith(_CHECKOUT))
    return path.startswith(folders)


def _is_installed(path: str) -> bool:
    if path.startswith(_OURS):  # in a wheel among installed packages, but never one of them
        return False
    return _is_below(path, _installed_folders()) or any(
        part.endswith((".egg-info", ".dist-info")) or part in ("site-packages", "dist-packages")
        for part in Path(path).parts
    )


@dataclass
class ReadAudit:
    """Audit of one job's core (the function that does the work), with the files it may read.

    Attributes:
        what: description of the job, for errors, such as ``train of convlstm on kth, seed 0``.
        modules: full names of the modules of the package that the fingerprint covers.
        folders: folders and files of the job (inputs, raw files, output, state) that may be read.
        declared: files of the checkout that the configuration declares (``reads:``).
        entries: configuration files in which further files can be declared, such as
            ``config/models/tau.yaml``.
        environment: values of the environment variables that the model declares, by name.
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
        self._folders = _as_folders(self.folders)
        _installed_folders()  # reads the environment before it is cleaned
        self._files = {*map(_absolute_path, (*self.declared, *self.folders))}
        parents = (name.split(".")[:i] for name in self.modules for i in range(1, 9))
        self._modules = {*self.modules, *map(".".join, parents), *SHELL_OF_CORES}

    def as_json(self) -> dict[str, object]:
        """Arguments to build an equal `ReadAudit` in another process."""
        names = ("what", "modules", "folders", "declared", "entries", "environment")
        return {name: getattr(self, name) for name in names}

    def watch(self, work: Callable[[], T]) -> T:
        """Run a function under audit, and return its result.

        Args:
            work: function without arguments.

        Raises:
            StpError: the function reads an undeclared file. The error is raised where the file is
                read, and again at the end if the core has caught it.
        """
        before = set(map(id, list(sys.modules.values())))  # other threads may import meanwhile
        try:
            with _activate(self):
                result = work()
        except Exception as error:
            if self._refused is None or error is self._refused:
                raise
            raise self._refused from error
        for name, module in list(sys.modules.items()):
            # The shell may have imported more of stp; __main__ may have got a second name.
            if id(module) not in before and name.partition(".")[0] != PACKAGE:
                self._see_module(module, "")
        if self._refused is not None:
            raise self._refused
        return result

    def check_open(self, path: Any, mode: Any, flags: Any) -> None:
        """Refuse to open a file for reading that the fingerprint does not cover.

        Any file may be opened for writing or created. It is remembered, since the job may read it
        later.

        Args:
            path: path of the file, or a file descriptor, which is not checked.
            mode: mode of Python's ``open``; None for ``os.open``.
            flags: flags of ``os.open``.

        Raises:
            StpError: the file is to be read, and the fingerprint does not cover it.
        """
        if isinstance(path, int) or path is None:
            return
        name = os.fsdecode(path)
        if name in self._known:
            return
        writes = isinstance(mode, str) and not mode.startswith("r")
        if writes or (mode is None and isinstance(flags, int) and flags & os.O_CREAT):
            self._written.add(_absolute_path(name))
            return
        self.see(name)

    def see(self, name: str, reader: str | None = None) -> None:
        """Refuse to read a file that the fingerprint does not cover.

        Args:
            name: path of the file.
            reader: full name of the module that reads the file, for the error; None to determine it
                from the stack.

        Raises:
            StpError: the fingerprint does not cover the file.
        """
        path = _absolute_path(name)
        if path in self._files or path in self._written or _is_below(path, self._folders):
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
        if not path.startswith(_OURS) or not path.endswith(".py"):
            return False
        if (own := name_of(Path(path))) is not None:
            return own in self._modules
        name = path.removeprefix(_CHECKOUT).removesuffix(".py").replace(os.sep, ".")
        return name.removesuffix(".__init__") in self._modules

    def _reader(self, frame: FrameType | None) -> str | None:
        """Name of the module that reads the file; empty if unknown.

        None if the code around the core reads, including its progress callbacks and all modules
        that these call, or if a traceback reads lines of a source.
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
        """Make the remedy for an undeclared file: the entry in which to declare it."""
        files = tuple(f"/{part}.yaml" for part in reader.split("."))
        entries = [entry for entry in self.entries if entry.endswith(files)] or self.entries
        if not entries:
            return "make it a part of the code, by an import statement, or of the configuration"
        places = " or ".join(map(str, [SOURCE_FOLDER, *(root.parent for root in own_modules())]))
        return (
            f"declare it in {' or '.join(entries)} with `reads: [PATH]`, a path in {places}: its "
            "content is then a part of the fingerprints"
        )


def _source(path: str) -> str:
    """Path of the source that a cache file was compiled from; of other files, the path itself."""
    if path.endswith(".pyc"):
        with contextlib.suppress(ValueError):
            return source_from_cache(path)
    made = Path(path)
    if made.suffix in (".nbi", ".nbc") and made.parent.name == "__pycache__":
        return str(made.parents[1] / f"{made.name.partition('.')[0]}.py")
    return path


def _is_foreign(frame: FrameType) -> bool:
    """Whether the code of a frame belongs to no installed package."""
    file = frame.f_code.co_filename
    return not file.startswith("<") and not _is_installed(file)


_now: ReadAudit | None = None


def _handle_event(event: str, arguments: tuple[Any, ...]) -> None:
    if _now is not None:
        if event == "open":
            _now.check_open(*arguments)
        elif event == "import" and arguments[1]:  # a compiled module, which Python does not open
            _now.see(arguments[1])


@cache
def _listen() -> None:
    """Add the audit hook to this process, once: Python cannot remove it."""
    sys.addaudithook(_handle_event)


@contextlib.contextmanager
def _activate(audit: ReadAudit) -> Iterator[None]:
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
