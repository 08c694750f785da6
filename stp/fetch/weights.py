"""Downloads weights of the networks that metrics look through."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from stp.core.errors import StpError, nearest
from stp.core.job import Report, silent
from stp.fetch.download import Manners
from stp.fetch.parallel import FileToFetch, download_all
from stp.plan.weights import Network, how, present


def fetch(
    folder: Path,
    networks: Mapping[str, Network],
    names: Iterable[str] = (),
    *,
    manners: Manners | None = None,
    report: Report = silent,
) -> list[Path]:
    """Download weights that are absent, and verify them.

    Args:
        names: of networks; all that can be downloaded unless given.

    Returns:
        the new files.

    Raises:
        StpError: a name is not known, there is nothing to download for it, or a download failed.
    """
    names = list(names)
    for name in names:
        if name not in networks:
            raise StpError(f"unknown network {name!r}", remedy=nearest(name, networks))
    there, wanted = present(folder, networks), []
    for name in names or networks:
        if name in there:
            continue
        file = next((file for file in networks[name].files if file.is_fetched), None)
        if file is not None:
            target = folder / file.file
            wanted.append(FileToFetch(file.file, target, file.model_dump(exclude_none=True)))
        elif name in names:
            raise StpError(
                f"the weights of {networks[name].title} cannot be downloaded",
                expected="a file with url and sha256 in config/weights.yaml",
                remedy=how(folder, networks[name]),
            )
    download_all(wanted, manners or Manners(), report)
    return [one.target for one in wanted]
