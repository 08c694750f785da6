"""The job server: a process from which the jobs of a local run are forked, to start them faster.

Starting Python, importing torch and making the plan take two CPU seconds, longer than most jobs of
a small run. So the main process of a local run starts a server, which imports what all jobs need
except for their cores, and makes the plan. ``stp VERB ...`` passes its arguments and open files to
the server (job_client.py), which forks a child that runs the command. The child imports the core
itself. Signals are passed to the child, and its exit status is returned.

A child behaves like a separate process. If it could not, the command runs in its own process, as on
a cluster: with another Python or environment (more threads, an environment of conda), after a
change of the code or the configuration, or if the server has several threads or has ended.
"""

import array
import atexit
import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from stp.job_client import ADDRESS, SIZE, Json, process_properties

NEEDED = {
    "torch": {"train", "predict", "features"},
    "matplotlib.axes": {"draw", "report"},
    "scipy.stats": {"draw"},
}
"""Libraries that the server imports before it first serves one of the listed commands."""
THREADS = {
    f"{library}_THREADS": "1"
    for library in (
        *("OMP_NUM", "GOTO_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM", "NUMEXPR_NUM"),
    )
}
"""Variables that Snakemake sets to the threads of a job. Libraries read them when imported, so jobs
with more than one thread run in processes of their own."""
FORKED = {"jemalloc_bg_thd"}
"""Threads that start again in a child: those of Arrow's memory allocator."""


# The main process of a run


def start(configfile: Path) -> Callable[[], None] | None:
    """Start the job server, which runs later jobs of this process in forks of itself.

    Such jobs start faster, since the server has already imported what they need and made the plan.
    They find the server by an environment variable. The server ends with this process.

    Args:
        configfile: scale file of the jobs.

    Returns:
        a function that stops the server. None without a server: on systems other than Linux, or if
        the path of its socket would be too long. Jobs then run in their own processes.
    """
    if sys.platform != "linux":  # elsewhere, forks after such imports may fail
        return None
    folder = tempfile.TemporaryDirectory(prefix="stp-", ignore_cleanup_errors=True)
    address = f"{folder.name}/jobs"
    if len(address) > 100:  # names of sockets are limited
        folder.cleanup()
        return None
    os.environ[ADDRESS] = address
    server = subprocess.Popen(
        [sys.executable, "-m", __name__, address, str(configfile)],
        env={**os.environ, **THREADS},
        stdin=subprocess.PIPE,  # closed when this process ends, however it does
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a terminal's Ctrl-C reaches children by their verbs, once
    )

    def stop() -> None:
        assert server.stdin is not None
        server.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(timeout=10)
        folder.cleanup()

    atexit.register(stop)
    return stop


# The server


def serve(address: str, configfile: Path) -> None:
    """Fork a child for each requested command, until standard input is closed.

    Args:
        address: path of the socket to create, in a folder to which only this user may write.
        configfile: scale file whose plan is made in advance.
    """
    import gc
    import select

    from stp.core.fingerprint import SOURCE_FOLDER
    from stp.core.project import own_modules
    from stp.plan.checked_config import CONFIG_FOLDER

    places = (SOURCE_FOLDER / "stp", CONFIG_FOLDER, configfile, *own_modules())
    before = _state(places)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(address)
        listener.listen(64)
        gc.disable()
        _import_the_shell(configfile)
        gc.freeze()
        gc.enable()
        children: set[int] = set()
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                request, files = _receive_request(connection)
                children = {child for child in children if os.waitpid(child, os.WNOHANG) == (0, 0)}
                if _is_served(request) and before == _state(places):
                    _import_for(*request["arguments"][1:2])
                    if child := os.fork():
                        children.add(child)
                    else:
                        listener.close()
                        _run_request(request, files, connection)
                for file in files:
                    os.close(file)
    for child in children:
        os.waitpid(child, 0)


def _is_served(request: Json) -> bool:
    """Whether a child would behave like the requesting process; other threads are not forked."""
    alike = all(request.get(key) == value for key, value in process_properties().items())
    threads = [name.read_text().strip() for name in Path("/proc/self/task").glob("*/comm")]
    return alike and len([name for name in threads if name not in FORKED]) == 1


def _state(places: tuple[Path, ...]) -> dict[str, tuple[int, int]]:
    """Times and sizes of all files of code and configuration, compared at every request."""
    state: dict[str, tuple[int, int]] = {}
    waiting: list[str | Path] = [place for place in places if place.is_dir()]
    for file in set(places) - set(waiting):
        if file.is_file():
            state[str(file)] = (stat := file.stat()).st_mtime_ns, stat.st_size
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                    waiting.append(entry.path)
                elif entry.is_file():
                    state[entry.path] = (stat := entry.stat()).st_mtime_ns, stat.st_size
    return state


def _import_the_shell(configfile: Path) -> None:
    """Import what all jobs need except for their cores, and make the plan."""
    import duckdb  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import zarr  # noqa: F401

    import stp.cli
    from stp.core.provenance import versions
    from stp.run import runner  # noqa: F401
    from stp.verbs.app import READY_PLANS, load_plan

    stp.cli.command()
    versions()
    READY_PLANS[configfile] = load_plan(configfile)


def _import_for(verb: str = "") -> None:
    """Import the libraries of a command, and undo their changes of the environment."""
    settings = set(os.environ)
    for library, verbs in NEEDED.items():
        if verb in verbs:
            importlib.import_module(library)
    if verb == "train":
        import torch

        # The first optimizer of a process imports as much again as torch.
        torch.optim.SGD([torch.zeros(1, requires_grad=True)])
    for name in set(os.environ) - settings:  # set by torch; requests of jobs lack them
        del os.environ[name]


def _receive_request(connection: socket.socket) -> tuple[Json, list[int]]:
    """Receive the request for a command, empty if incomplete, and the open files of its process."""
    files = array.array("i")
    try:
        head, passed, *_ = connection.recvmsg(4, socket.CMSG_SPACE(3 * files.itemsize))
        for _, _, data in passed:
            files.frombytes(data)
        length, text = int.from_bytes(head, SIZE), b""
        while len(text) < length and (more := connection.recv(length - len(text))):
            text += more
        return json.loads(text), list(files)
    except (OSError, ValueError):
        return {}, list(files)


def _run_request(request: Json, files: list[int], connection: socket.socket) -> NoReturn:
    """Adopt the arguments, environment and open files of the requesting process, and run the
    command.
    """
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None
    sys.argv = request["arguments"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.modules["__main__"].__package__ = request["package"]
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", buffering=1 if os.isatty(1) else -1, closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    connection.sendall(b"y")
    threading.Thread(target=_relay_signals, args=(connection,), daemon=True).start()
    status = 1
    try:
        from stp.cli import main

        main()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        with contextlib.suppress(OSError):
            connection.sendall(bytes([status & 0xFF]))
        os._exit(status)


def _relay_signals(connection: socket.socket) -> None:
    """Receive the signals of the requesting process, and end if that process ends."""
    while received := connection.recv(1):
        if signal.getsignal(received[0]) == signal.SIG_DFL:
            connection.sendall(bytes([128 + received[0]]))  # this process ends before it could
        os.kill(os.getpid(), received[0])
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
