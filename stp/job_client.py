"""Hand the work of a command over to the job server of the run (job_server.py).

Each job of a local run starts a Python process that only does this, so little is imported. The
server runs the command in a forked child, which inherits the environment of the server.
"""

import array
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Final

ADDRESS = "STP_JOB_SERVER"
"""Name of the environment variable with the socket of the server."""
OF_EACH_JOB = frozenset(("_", "SHLVL", "PWD", "OLDPWD", "PATH", "TMPDIR", "TMP", "TEMP", "TEMPDIR"))
"""Variables that the shell and Snakemake change for each job; children receive them unchanged."""
KILLED = 128 + signal.SIGKILL
SIZE: Final = "big"

Json = dict[str, Any]


def hand_over_job() -> int | None:
    """Ask the job server of this run to run the command of this process, and wait for its end.

    The request contains the command's arguments, its environment and its open files.

    Returns:
        the exit status of the command; None if there is no server or the server refuses, so that
        this process has to run the command itself.
    """
    address = os.environ.get(ADDRESS)
    if address is None:
        return None
    request = {
        "arguments": sys.argv,
        "package": sys.modules["__main__"].__package__,  # help names the program by it
        "environment": dict(os.environ),
        **process_properties(),
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(address)
            connection.sendmsg(
                [len(text := json.dumps(request).encode()).to_bytes(4, SIZE)],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))],
            )
            connection.sendall(text)
            if connection.recv(1) != b"y":
                return None
        except OSError:
            return None
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _: connection.sendall(bytes([number])))
        try:
            status = connection.recv(1)
        except OSError:
            status = b""
        try:
            connection.settimeout(5)
            connection.recv(1)  # until it has ended; its own processes may go on
        except OSError:
            pass
        return status[0] if status else KILLED


def process_properties() -> Json:
    """Describe the environment of this process, which the job server compares with its own.

    The server takes over the command of this process only if both environments are the same.

    Returns:
        a JSON object: ``python``, path of the interpreter; ``folder``, current folder;
        ``settings``, environment variables without `OF_EACH_JOB`.
    """
    return {
        "python": sys.executable,
        "folder": str(Path.cwd()),
        "settings": {k: v for k, v in os.environ.items() if k not in OF_EACH_JOB},
    }
