"""Verify the checksums of all files of the store, several files at once.

The checksums are recorded in the receipts of artefacts.
"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from stp.core.errors import StpError
from stp.core.job import Report, report_nothing
from stp.core.receipts import RECEIPT, SEALED, Receipt, check_file, read_receipt, refuse_altered
from stp.core.store import is_dropped


@dataclass
class Verification:
    """The result of a verification of artefacts (folders of results).

    Attributes:
        artefacts: number of verified artefacts.
        bytes: number of bytes read.
        damaged: problems of a damaged artefact, by its folder.
    """

    artefacts: int = 0
    bytes: int = 0
    damaged: dict[Path, list[str]] = field(default_factory=dict)


def verify(
    folders: Iterable[Path], report: Report = report_nothing, threads: int | None = None
) -> Verification:
    """Check that finished artefacts (folders of results) are unchanged.

    Each file must have the size and checksum that the receipt of its artefact records, and the
    receipt must equal the sealed copy of it in the same folder.

    Args:
        folders: folders of artefacts.
        report: callback that receives the megabytes read so far, and the total.
        threads: number of files read at the same time; None for the number of cores.
    """
    result = Verification()
    work: list[tuple[Path, Receipt, str, int]] = []
    for folder in folders:
        receipt = read_receipt(folder)
        if receipt is None and not any((folder / name).exists() for name in (RECEIPT, SEALED)):
            continue  # a folder that Snakemake made, without a finished artefact
        result.artefacts += 1
        result.damaged[folder] = list(_problems_of_receipt(folder, receipt))
        if receipt is not None and not result.damaged[folder] and not is_dropped(folder):
            work += [(folder, receipt, n, e.bytes) for n, e in receipt.files.items()]
    total = sum(size for *_, size in work)

    def check(item: tuple[Path, Receipt, str, int]) -> StpError | None:
        try:
            check_file(*item[:3])
        except StpError as problem:
            return problem
        except OSError as problem:  # the disk itself
            return StpError(f"{item[0] / item[2]}: cannot be read: {problem.strerror}")
        return None

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for (folder, *_, size), problem in zip(work, pool.map(check, work), strict=True):
            result.bytes += size
            if problem is not None:
                result.damaged[folder].append(problem.what)
            report("MB", result.bytes >> 20, total >> 20)
    result.damaged = {folder: problems for folder, problems in result.damaged.items() if problems}
    return result


def _problems_of_receipt(folder: Path, receipt: Receipt | None) -> Iterator[str]:
    if receipt is None:
        yield f"{folder}: no readable receipt"
    elif receipt.fingerprint != folder.name:
        yield f"{folder}: receipt of another artefact, {receipt.fingerprint}"
    elif not (folder / SEALED).is_file():
        yield f"{folder / SEALED}: missing"
    else:
        try:
            refuse_altered(folder)
        except StpError as problem:
            yield problem.what


def lines(result: Verification) -> Iterator[str]:
    """Yield lines of text about damaged artefacts (results), with commands that delete them."""
    for folder, problems in result.damaged.items():
        yield f"damaged: {folder}"
        yield from (f"  {problem}" for problem in problems)
    if result.damaged:
        yield ""
        yield "Delete these folders and run again to make them anew:"
        yield from (f"rm -r {folder}" for folder in result.damaged)
