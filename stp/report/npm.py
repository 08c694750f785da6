"""Packages of npm, for the one part of the report that needs them: pinned, checked, kept.

`package.json` and `package-lock.json` name versions and checksums, and no host: npm takes them from
the registry that it is configured for. What was installed is kept in a folder that is named by the
two files, so that it is installed once, and again only when a version changes.
"""

import hashlib
import shutil
import subprocess
from pathlib import Path
from uuid import uuid4

from stp.core.disk import writing
from stp.core.errors import StpError

LISTS = ("package.json", "package-lock.json")
_INSTALL = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1")


def installed(wanted: Path, root: Path) -> Path:
    """Install what ``wanted`` lists, unless it is there.

    Args:
        wanted: a folder with `LISTS`.
        root: the folder of all that was installed before.

    Returns:
        A folder with ``node_modules``: whole, since it is renamed when npm has ended.

    Raises:
        StpError: npm or node is missing, or npm fails, as it does without a network.
    """
    lists = [(wanted / name).read_bytes() for name in LISTS]
    folder = root / hashlib.sha256(b"\0".join(lists)).hexdigest()[:12]
    if (folder / "node_modules").is_dir():
        return folder
    for program in ("npm", "node"):
        if shutil.which(program) is None:
            raise StpError(
                f"{program}: no such program",
                expected="npm and Node.js 20 or newer, which build the SQL console",
                remedy="install Node.js (npm comes with it) and run again, or copy the folder "
                f"{folder} from a machine that has them; the report itself needs neither",
            )
    temporary = root / f".{folder.name}.{uuid4().hex[:12]}.tmp"
    try:
        with writing(temporary):
            temporary.mkdir(parents=True)
            for name in LISTS:
                shutil.copyfile(wanted / name, temporary / name)
        found = run_program([*_INSTALL], temporary)
        if found.returncode:
            said = [line for line in found.stderr.splitlines() if line.startswith("npm error")]
            raise StpError(
                "npm could not install the packages of the SQL console: "
                + " / ".join(line.removeprefix("npm error").strip() for line in said[:4]),
                expected="the registry that npm is configured for (npm config get registry) "
                "within reach, once, with the versions and checksums of "
                f"{wanted / 'package-lock.json'}",
                remedy=f"run again where there is a network, or copy the folder {folder} from a "
                "machine that has it",
            )
        with writing(folder):
            if not folder.is_dir():  # nobody else was quicker
                temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def run_program(
    command: list[str], folder: Path, given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a program of the installed packages, or npm; its output is returned as text."""
    return subprocess.run(
        command, cwd=folder, input=given, capture_output=True, text=True, check=False
    )
