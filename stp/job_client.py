"""What a verb does first: it hands its work over to the job server of the run (job_server.py).

Each job of a local run starts a Python for this alone, so little is imported.
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
"""Variable of the environment that names the server's socket."""
OF_EACH_JOB = frozenset(("_", "SHLVL", "PWD", "OLDPWD", "PATH", "TMPDIR", "TMP", "TEMP", "TEMPDIR"))
"""What the shell and Snakemake change in the environment of a job; children get it as it is."""
KILLED = 128 + signal.SIGKILL
SIZE: Final = "big"

Json = dict[str, Any]


def handed_over() -> int | None:
    """Let the server of this run do what this process was started for.

    Returns:
        the exit status, or None: there is no server, or it does not serve this.
    """
    address = os.environ.get(ADDRESS)
    if address is None:
        return None
    request = {
        "arguments": sys.argv,
        "package": sys.modules["__main__"].__package__,  # in what help calls the program
        "environment": dict(os.environ),
        **place(),
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
            connection.recv(1)  # until it has ended; a process of its own may live on
        except OSError:
            pass
        return status[0] if status else KILLED


def place() -> Json:
    """What must be alike for a child to be like the process that asks."""
    return {
        "python": sys.executable,
        "folder": str(Path.cwd()),
        "settings": {k: v for k, v in os.environ.items() if k not in OF_EACH_JOB},
    }
