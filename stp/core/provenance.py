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
    """Describe who runs this, on what, and with which versions.

    Nothing of it is part of a fingerprint: it explains a number, it does not choose it.
    """
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
    """The versions of the packages that compute, as they were when this process first asked."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def version_of(name: str) -> str:
    """The version of an installed package that counts in fingerprints (see ``versions``).

    Raises:
        StpError: it is not installed.
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
    """Name whoever runs this; by number in a container without a password file."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _processor() -> str:
    """The name of the processor, from the operating system."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line]
    return named[0] if named else platform.machine()


def _device() -> str:
    """Name the GPU if torch was loaded and has one; never load torch to find out."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return "cpu"
    return str(torch.cuda.get_device_name())


def commit() -> str | None:
    """Name the commit of the checkout, marked if files were changed since."""
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
