"""Where an artefact comes from: machine, versions, commit and times."""

import getpass
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from stp.core.errors import StpError
from stp.core.project import IS_CHECKOUT
from stp.core.receipts import Provenance

PACKAGES = (
    "stp", "torch", "torchvision", "lpips", "numpy", "scipy", "pandas", "pyarrow", "zarr", "xarray",
    "dask", "netcdf4", "h5py", "cftime", "av", "pillow", "duckdb", "snakemake",
)  # fmt: skip


def describe_machine() -> Provenance:
    """Record user, machine, commit and versions of packages; none of them affects a fingerprint."""
    return Provenance(
        host=socket.gethostname(),
        user=user(),
        system=platform.platform(),
        processor=_processor(),
        cpus=os.cpu_count(),
        device=_device(),
        python=platform.python_version(),
        packages=dict(versions()),
        commit=commit(),
        slurm_job=os.environ.get("SLURM_JOB_ID"),
        visible_gpus=os.environ.get("CUDA_VISIBLE_DEVICES"),
    )


@cache
def versions() -> Mapping[str, str]:
    """Versions of this package and of its main dependencies, such as torch and numpy, by name.

    A package that is missing has the version ``not installed``.
    """
    installed = {}
    for name in PACKAGES:
        try:
            installed[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            installed[name] = "not installed"
    return installed


def version_of(name: str) -> str:
    """The version of an installed package.

    It is part of all fingerprints (hashes of artefacts) if a scale file, the configuration of a
    run, lists the package under ``versions``.

    Raises:
        StpError: the package is not installed.
    """
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        raise StpError(
            f"versions: there is no installed package {name!r}",
            expected="names as pip knows them, such as torch",
            remedy="correct `versions` in the scale file, or install it",
        ) from None


def user() -> str:
    """Name of the user, or the user's number in a container without a password file."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return names[0] if names else platform.machine()


def _device() -> str:
    """Name of the GPU that torch uses; ``cpu`` without a GPU, or if torch was not imported."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return "cpu"
    return str(torch.cuda.get_device_name())


def commit() -> str | None:
    """The commit of the checkout, with ``-dirty`` if files were changed since; None without git."""
    if not IS_CHECKOUT:  # Git would name the commit of whatever the environment lies in
        return None
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
