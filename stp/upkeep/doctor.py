"""Check whether this machine meets the requirements of a run, and suggest remedies."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from stp.core.errors import StpError
from stp.core.project import ORIGIN, project_folder
from stp.core.units import size_text
from stp.plan import weights
from stp.plan.checked_config import check, read_yaml
from stp.plan.scale import Scale, folders
from stp.run.cluster import slurm
from stp.run.cluster.site import Site

OK, ABSENT, WRONG = "ok", "absent", "wrong"
"""States of a check: fine; missing, but not required; to be fixed before a run."""
LEAST_FREE = 5 << 30
"""Minimum free disk space for the demo and its environment, bytes."""
OLDEST_PYTHON = (3, 11)


class Check(NamedTuple):
    """The result of one check of this machine for ``stp doctor``.

    Attributes:
        what: name of what was checked.
        state: `OK`; `ABSENT`, if an optional part is missing; or `WRONG`, if a run cannot start.
        detail: result in words.
        remedy: advice about what to do; empty if the check passed.
    """

    what: str
    state: str
    detail: str
    remedy: str = ""


def examine(configfile: Path) -> list[Check]:
    """Check the requirements of a run on this machine.

    Raises:
        StpError: the scale file cannot be read.
    """
    where = folders(check(Scale, read_yaml(configfile), str(configfile)).paths)
    store, raw = where["store"], where["raw"]
    assert store is not None and raw is not None
    checks: list[Callable[[], Check]] = [
        _python,
        _packages,
        _project,
        lambda: _weights(where["weights"]),
        lambda: _disk("store", store, "STP_STORE_DIR"),
        lambda: _disk("raw files", raw, "STP_RAW_DIR"),
        lambda: _disk("temporary files", Path(tempfile.gettempdir()), "TMPDIR"),
        _gpu,
        _slurm,
        lambda: _mirror(where["mirror"]),
    ]
    return [check_part() for check_part in checks]


def lines(checks: Sequence[Check]) -> Iterator[str]:
    """Lines of text about the results of the checks."""
    for part in checks:
        remedy = f"; {part.remedy}" if part.remedy else ""
        yield f"{part.state:<7} {part.what:<16} {part.detail}{remedy}"


def _python() -> Check:
    version = sys.version.split()[0]
    if sys.version_info < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Check("Python", WRONG, version, f"make an environment with Python {oldest} or newer")
    return Check("Python", OK, f"{version} ({sys.executable})")


def _packages() -> Check:
    problems, count = [], 0
    for text in metadata.requires("stp") or ():
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        count += 1
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            problems.append(f"{requirement.name} is not installed")
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            problems.append(f"{requirement.name} {version} is not {requirement.specifier}")
    if problems:
        names = " ".join(f"'{problem.split()[0]}'" for problem in problems)
        return Check(
            "packages", WRONG, "; ".join(problems), f"install stp again, or: pip install -U {names}"
        )
    main = ", ".join(f"{name} {metadata.version(name)}" for name in ("torch", "snakemake"))
    return Check("packages", OK, f"all {count} of stp {metadata.version('stp')}; {main}")


def _project() -> Check:
    current = Path.cwd()
    if (current / "local" / "config.yaml").is_file() or (current / "profiles" / "local").is_dir():
        return Check("project", OK, str(current))
    folder = project_folder(current) or ORIGIN
    return Check(
        "project",
        WRONG,
        f"{current} has no profile `local`",
        f"run in {folder}, or make a folder to work in with `stp init FOLDER`",
    )


def _weights(configured: Path | None) -> Check:
    """Check which networks of metrics have weights; measures that a user fits do not count."""
    folder = configured or weights.FOLDER
    if configured is not None and not configured.is_dir():
        return Check(
            "weights",
            WRONG,
            f"{configured} does not exist",
            "correct STP_WEIGHTS_DIR or paths.weights",
        )
    networks = {
        name: network for name, network in weights.read_declared_weights().items() if network.files
    }
    present = weights.present(folder, networks)
    absent = [name for name in networks if name not in present]
    detail = f"{', '.join(present) or 'none'} in {folder}"
    if not absent:
        return Check("weights", OK, detail)
    return Check(
        "weights",
        ABSENT,
        f"{detail}; without {', '.join(absent)}, whose metrics have no values",
        f"`stp list weights --fetch {' '.join(absent)}`",
    )


def _disk(what: str, folder: Path, variable: str) -> Check:
    """Check that a folder, which need not exist yet, is writable and has space."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        free = shutil.disk_usage(existing).free
    except OSError as error:
        return Check(what, WRONG, f"{folder}: {error.strerror}", f"choose another with {variable}")
    if not os.access(existing, os.W_OK | os.X_OK):
        return Check(
            what,
            WRONG,
            f"{existing} cannot be written to",
            f"choose a folder of yours with {variable}",
        )
    if free < LEAST_FREE:
        return Check(
            what,
            WRONG,
            f"{folder}: {size_text(free)} free",
            f"free some space (`stp store gc`), or choose a larger disk with {variable}",
        )
    return Check(what, OK, f"{folder}: {size_text(free)} free")


def _gpu() -> Check:
    try:
        import torch

        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        names = [torch.cuda.get_device_name(index) for index in range(count)]
    except (ImportError, RuntimeError, OSError) as error:
        message = [*str(error).splitlines(), repr(error)][0]
        return Check("GPU", WRONG, f"torch fails: {message}", "install torch again")
    if names:
        return Check("GPU", OK, f"{', '.join(names)} (CUDA {torch.version.cuda})")
    if shutil.which("nvidia-smi") is None:
        return Check(
            "GPU", ABSENT, "none: networks run on the CPU", "scales such as paper need GPUs"
        )
    return Check(
        "GPU",
        WRONG,
        f"this machine has nvidia-smi, but torch {torch.__version__} finds no GPU",
        "check that nvidia-smi works, and install a build of torch for its CUDA",
    )


def _slurm() -> Check:
    if shutil.which("sbatch") is None:
        return Check("Slurm", ABSENT, "no sbatch: jobs run on this machine", "see docs/cluster.md")
    version = slurm.version()
    if version is None:
        return Check(
            "Slurm",
            ABSENT,
            "sbatch exists, but the controller does not answer: jobs run on this machine",
            "see `sinfo`; `stp run --cluster slurm` needs a login node of the cluster",
        )
    try:
        accounting = "sacct" if Site.load().has_accounting() else "squeue, without accounting"
    except StpError as error:
        return Check("Slurm", WRONG, error.what, error.remedy)
    return Check("Slurm", OK, f"{version}; job states from {accounting}")


def _mirror(folder: Path | None) -> Check:
    if folder is None:
        return Check(
            "mirror",
            ABSENT,
            "none: raw files are generated, downloaded or provided by you",
            "STP_RAW_MIRROR names a folder of raw files",
        )
    if not folder.is_dir() or not os.access(folder, os.R_OK | os.X_OK):
        return Check(
            "mirror",
            WRONG,
            f"{folder} is not a readable folder",
            "correct STP_RAW_MIRROR or paths.mirror",
        )
    return Check("mirror", OK, str(folder))
