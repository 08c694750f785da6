"""Make the call of Snakemake that `stp run` executes."""

from collections.abc import Sequence
from pathlib import Path

from stp.core.errors import StpError, suggest_name
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.run.results import RESULTS

DEFAULTS = {"local": "demo", "slurm": "paper"}
"""Name of the scale that each profile (profiles/) runs, by the name of the profile."""
OF_THE_SCALE = {"figures": "figures/all", "report": "report/index.html", "data": "data/all"}
"""Paths of targets with a short name, relative to the folder of results of a scale."""


def arguments(
    targets: Sequence[str],
    scale: str | None = None,
    cluster: str | None = None,
    passed: Sequence[str] = (),
) -> list[str]:
    """Make the command line of Snakemake that makes targets, such as tables.

    Args:
        targets: names of tables, ``all``, ``tables``, ``figures``, ``report``, ``data``, or paths.
        scale: name of a scale file in the configuration folder, or path of a scale file, which
            says what is evaluated; None for the scale of the profile.
        cluster: name of a cluster's profile, such as ``slurm``; None for this machine.
        passed: further arguments of Snakemake.

    Raises:
        StpError: the scale is unknown, or the working directory has no profile of that name.
    """
    profile = cluster or "local"
    if not Path(profile, "config.yaml").is_file() and not Path("profiles", profile).is_dir():
        raise StpError(
            f"{Path.cwd()} is not the folder of a project: it has no profile {profile}",
            remedy="change to a checkout of stp, or to a folder that `stp init FOLDER` has made",
        )
    configfile = scale_file(scale or DEFAULTS[profile])
    results = RESULTS / str(read_yaml(configfile)["scale"])
    configuration = ["--configfile", str(configfile)] if scale else []
    return [
        *["--profile", profile, *configuration, *passed],
        "--",
        *(_path_of(target, results) for target in targets),
    ]


def _path_of(target: str, results: Path) -> str:
    if "/" in target or target == "all":  # all: the rule of everything
        return target
    if target in OF_THE_SCALE:
        return str(results / OF_THE_SCALE[target])
    return str(RESULTS / "tables" / ("all" if target == "tables" else f"{target}.csv"))


def scale_file(scale: str) -> Path:
    """Find a scale file (which says what is evaluated), such as config/demo.yaml, by name or path.

    Raises:
        StpError: the scale is unknown; the message names the most similar one.
    """
    path = Path(scale)
    if path.suffix in (".yaml", ".yml") or "/" in scale:
        if not path.is_file():
            raise StpError(f"{scale}: no such scale file")
        return path
    scales = {file.stem: file for file in sorted(CONFIG_FOLDER.glob("*.yaml")) if _is_scale(file)}
    if scale not in scales:
        raise StpError(
            f"unknown scale {scale}",
            expected=f"the name of a scale file in {CONFIG_FOLDER}, or a path",
            remedy=suggest_name(scale, scales),
        )
    return _from_here(scales[scale])


def _is_scale(path: Path) -> bool:
    content = read_yaml(path)
    return isinstance(content, dict) and "scale" in content and "dimensions" in content


def _from_here(path: Path) -> Path:
    cwd = Path.cwd()
    return path.relative_to(cwd) if path.is_relative_to(cwd) else path
