"""Commands of this environment in processes that need not import their libraries again.

Python starts ``snakemake`` or ``stp`` in one to three CPU seconds, most of them for libraries, and
tests of the workflow start hundreds. So each worker of pytest has one process that has imported the
libraries, but nothing of `stp`, and each command is a fork of it: with arguments, folder,
environment, output and exit status of its own, and with the `stp` that its own PYTHONPATH names.
All commands of a worker share what Python draws when it starts, the order of sets of strings.
"""

import atexit
import importlib
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

COMMANDS = ("snakemake", "stp", "python")
LIBRARIES = [
    *("snakemake.cli", "snakemake.executors.local", "snakemake_executor_plugin_slurm"),
    *("typer", "typer.rich_utils", "rich.console", "rich.progress", "rich.table"),
    *("pydantic", "yaml", "yte", "numpy", "pandas", "pyarrow.parquet", "duckdb", "zarr"),
]
"""None of them reads the environment that tests change, or starts a thread that has to live on."""
BIN = Path(sys.executable).parent

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(LIBRARIES)


def run(
    command: Sequence[str], folder: Path, environment: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Do what `subprocess.run` does with both outputs in one pipe, for one of `COMMANDS`.

    Python runs what follows as ``python -c CODE ARGUMENT...``.
    """
    ours, theirs = _context.Pipe(duplex=False)
    process = _context.Process(target=_become, args=(command, folder, environment, theirs))
    process.start()
    theirs.close()
    said = bytearray()
    while more := os.read(ours.fileno(), 1 << 16):
        said += more
    ours.close()
    process.join()
    status = process.exitcode
    assert status is not None
    process.close()
    return subprocess.CompletedProcess(command, status, said.decode())


def _become(
    command: Sequence[str], folder: Path, environment: dict[str, str], output: Connection
) -> None:
    """Be the process of a command, as if Python had just started."""
    is_python = command[0] == "python"
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    output.close()
    multiprocessing.set_start_method(None, force=True)  # what it is where nobody has chosen
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    script = BIN / command[0]
    sys.argv = [*command[1:2], *command[3:]] if is_python else [str(script), *command[1:]]
    installed = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    named = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = ["" if is_python else str(BIN), *named, *installed]
    importlib.invalidate_caches()
    sys.modules["__main__"] = types.ModuleType("__main__")
    for name in ("forked", "__mp_main__"):
        sys.modules.pop(name, None)
    try:
        if is_python:
            exec(command[2], vars(sys.modules["__main__"]))
        else:
            runpy.run_path(str(script), run_name="__main__")
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
