"""Find the garbage of a store, mostly artefacts that no plan needs, and delete it on request.

Needed artefacts are those in the plans of this checkout, and those that any checkout claimed when
it started a run (stp/upkeep/claims.py). Artefacts that are being made and recent artefacts are kept
too.
"""

import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stp.core import store
from stp.core.errors import StpError
from stp.core.job import Report, report_nothing
from stp.core.receipts import RECEIPT, read_receipt
from stp.core.units import size_text
from stp.page.plain_table import wrap_line
from stp.plan import config, scale
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.run.meter import CountMeter
from stp.upkeep.claims import Claim, inputs_by_artefact, read_claims
from stp.upkeep.inventory import artefacts, last_change_time, leftovers, require, size_of, states

DAY = 24 * 3600.0
Needed = dict[str, list[str]]
"""Folders of needed artefacts, each with the folders of the artefacts that it is made from."""
KINDS = ("artefact", "predictions", "leftover", "state")


@dataclass(frozen=True)
class GarbageItem:
    """A folder that can be deleted.

    Attributes:
        kind: "artefact", "predictions", "leftover" (of a killed process) or "state" (of a job).
        folder: path of the folder, relative to the store.
        holder: folder, relative to the store, with the lease (a file that names a process) by which
            ``folder`` is marked as in use: ``state/<folder>``, or ``folder`` itself if it is below
            ``state/``.
        why: reason why the folder is not needed.
        bytes: size on disk, in bytes.
        files: number of files.
        time: last change, as Unix time.
    """

    kind: str
    folder: str
    holder: str
    why: str
    bytes: int
    files: int
    time: float


@dataclass(frozen=True)
class Garbage:
    """The garbage of a store, and folders that are kept although no plan needs them.

    Attributes:
        deletable: folders that can be deleted.
        young: number of unneeded folders that are too recent to delete.
        running: folders of artefacts that are being made but are in no known plan. Their inputs are
            unknown, so no artefact may be deleted now.
    """

    deletable: list[GarbageItem]
    young: int
    running: list[str]


def needed_artefacts(plans: Iterable[Plan], claims: Iterable[Claim]) -> Needed:
    """List all artefacts that somebody needs, with their inputs.

    Args:
        plans: plans of this checkout.
        claims: records of what the last runs of all checkouts need.

    Returns:
        for the folder of each needed artefact, the folders of the artefacts that it is made from.
    """
    folders: Needed = {}
    for part in (
        *(inputs_by_artefact(plan) for plan in plans),
        *(claim.artefacts for claim in claims),
    ):
        folders |= part
    return folders


def find(
    root: Path, keep: Needed, older_than: float = 7 * DAY, report: Report = report_nothing
) -> Garbage:
    """Find the folders in the store that nobody needs.

    Args:
        root: the store.
        keep: artefact folders to keep, from `needed_artefacts`.
        older_than: minimum time since the last change of a folder, in seconds; leftovers (of killed
            processes) must be at least a day old in any case.
        report: callback that receives the number of examined folders.
    """
    with_state = list(states(root))
    running_now = {folder for folder in with_state if store.is_held(root / "state" / folder)}
    running = sorted(running_now - keep.keys())
    deletable: list[GarbageItem] = []
    young = 0
    candidates = _candidates(root, keep, with_state)
    for done, (kind, folder, holder, why) in enumerate(candidates):
        report("looked at", done, len(candidates))
        if store.is_held(root / holder):
            continue
        try:
            changed = last_change_time(root / folder)
            size, files = size_of(root / folder)
        except FileNotFoundError:  # another process finished or removed it meanwhile
            continue
        if time.time() - changed < (max(DAY, older_than) if kind == "leftover" else older_than):
            young += 1
        elif not (kind == "artefact" and running):
            deletable.append(GarbageItem(kind, folder, holder, why, size, files, changed))
    return Garbage(deletable, young, running)


def _candidates(root: Path, keep: Needed, with_state: list[str]) -> list[tuple[str, str, str, str]]:
    candidates = [
        ("artefact", folder, f"state/{folder}", "no plan needs it")
        for folder in artefacts(root)
        if folder not in keep
    ]
    for folder, meant_for in leftovers(root):
        # Below state, it is a leftover of an import or of state, with a lease of its own.
        holder = folder if folder.startswith("state/") else f"state/{meant_for}"
        candidates.append(("leftover", folder, holder, _LEFT[folder.rpartition(".")[2]]))
    for folder in with_state:
        state = f"state/{folder}"
        if store.is_complete(root / folder):
            candidates.append(("state", state, state, "its artefact is finished"))
        elif folder not in keep:
            candidates.append(("state", state, state, "no plan needs its artefact"))
    return candidates


_LEFT = {
    "partial": "left by a process that was killed",
    "damaged": "was damaged and has been made again",
    "garbage": "left by a `stp store gc` that was killed",
}


def find_predictions(
    root: Path, keep: Needed, older_than: float = 7 * DAY, report: Report = report_nothing
) -> Garbage:
    """Find predictions that can be deleted because all artefacts made from them are finished.

    Args:
        root: the store.
        keep: needed artefact folders with their inputs, from `needed_artefacts`; only predictions
            among them are examined.
        older_than: minimum time since the last artefact was made from the predictions, in seconds.
        report: callback that receives the number of examined folders.
    """
    made_of: dict[str, list[str]] = {}
    for folder, inputs in keep.items():
        for source in inputs:
            made_of.setdefault(source, []).append(folder)
    # Scores and features that no plan has may be in progress, from any predictions of their cell.
    busy = [folder for folder in states(root) if store.is_held(root / "state" / folder)]
    deletable, young = [], 0
    planned = sorted(folder for folder in keep if folder.startswith("predictions/"))
    for done, folder in enumerate(planned):
        report("looked at", done, len(planned))
        path, users = root / folder, made_of.get(folder, [])
        of_cell = f"/{_cell(folder)}/"
        if not users or any(of_cell in other for other in busy) or not store.is_complete(path):
            continue
        if not all((root / user / RECEIPT).exists() for user in users):
            continue
        changed = max((root / user / RECEIPT).stat().st_mtime for user in users)
        receipt = read_receipt(path)
        listed = receipt.files if receipt else {}
        size = sum(entry.bytes for entry in listed.values())
        if time.time() - changed < older_than:
            young += 1
        else:
            holder, why, files = f"state/{folder}", "its cell is scored", len(listed)
            deletable.append(GarbageItem("predictions", folder, holder, why, size, files, changed))
    return Garbage(deletable, young, [])


def _cell(folder: str) -> str:
    """The path of a cell, a part of the paths of its predictions, features and scores."""
    return folder.rpartition("/")[0].partition("/")[2]


def delete(
    root: Path,
    items: Iterable[GarbageItem],
    say: Callable[[GarbageItem], None],
    needed_then: Needed | None = None,
    oldest: float = 0.0,
) -> None:
    """Delete folders from a list of garbage, except those that a run may need since the listing.

    Folders that may be needed are skipped: they stay, and no error is raised. A folder is renamed
    before it is deleted, so that no process ever sees an incomplete artefact.

    Args:
        root: the store.
        items: folders from `find` or `find_predictions`. These take long in a large store, so
            runs may begin meanwhile.
        say: callback that receives each folder before it is deleted.
        needed_then: artefacts that were needed when the garbage was listed, from
            `needed_artefacts`; None for none. A job that runs now is known if its artefact is among
            these, or in a claim (record of what a checkout needs). While any other job runs,
            folders of kind "artefact" are skipped, since the job may read any artefact.
        oldest: Unix time; earlier claims are ignored. 0 to use all claims.
    """
    for item in items:
        path = root / item.folder
        if not path.exists() or _is_needed_by_now(root, item, needed_then or {}, oldest):
            continue
        say(item)
        if item.kind == "predictions":
            store.drop(path, "stp store gc --predictions")
            continue
        aside = path.with_name(f".{path.name.lstrip('.')}.{uuid.uuid4().hex[:8]}.garbage")
        try:
            path.rename(aside)
        except FileNotFoundError:  # another process deletes, too
            continue
        if store.is_held(aside):  # another process took it just before
            aside.rename(path)
            continue
        shutil.rmtree(aside, ignore_errors=True)


def _is_needed_by_now(root: Path, item: GarbageItem, needed_then: Needed, oldest: float) -> bool:
    """Whether a run that may need a folder began after the folder was listed."""
    if store.is_held(root / item.holder):
        return True
    claims = [claim for claim in read_claims(root) if claim.time >= oldest]
    running = {folder for folder in states(root) if store.is_held(root / "state" / folder)}
    claimed = needed_artefacts([], claims)
    if item.kind == "artefact":
        return item.folder in claimed or bool(running - claimed.keys() - needed_then.keys())
    if item.kind == "predictions":
        users = [user for user, made_of in claimed.items() if item.folder in made_of]
        of_cell = f"/{_cell(item.folder)}/"
        return any(of_cell in other for other in running) or not all(
            (root / user / RECEIPT).exists() for user in users
        )
    return False


def lines(garbage: Garbage, claims: list[Claim], days: float) -> Iterator[str]:
    """Yield what ``stp store gc`` prints, line by line: folders that nobody needs, and their size.

    Args:
        garbage: folders that can be deleted, each with its size and the reason.
        claims: records of what the last runs of all checkouts need, listed first.
        days: minimum age in days of a folder that can be deleted.
    """
    for claim in claims:
        yield f"needed by {claim}: {len(claim.artefacts)} artefacts"
    for item in garbage.deletable:
        day = time.strftime("%Y-%m-%d", time.localtime(item.time))
        yield f"{size_text(item.bytes):>9}  {day}  {item.folder}  ({item.why})"
    if garbage.running:
        yield (
            f"{', '.join(garbage.running)} is being made for an unknown plan, from unknown inputs: "
            "artefacts stay until it has ended"
        )
    if garbage.young:
        yield f"{garbage.young} folders younger than {days:g} days stay (--older-than)"
    counts = [
        f"{kind} {sum(item.kind == kind for item in garbage.deletable)}"
        for kind in KINDS
        if any(item.kind == kind for item in garbage.deletable)
    ]
    size = size_text(sum(item.bytes for item in garbage.deletable))
    files = sum(item.files for item in garbage.deletable)
    yield f"{size} in {files} files: {', '.join(counts)}" if counts else "nothing to delete"


def run_gc(
    configfiles: list[Path] | None,
    predictions: bool,
    days: float,
    forget_after: float | None,
    yes: bool,
) -> None:
    """List the garbage of the store, and with `yes` delete it (``stp store gc``).

    Args:
        configfiles: scale files whose artefacts are kept; None for all scale files in ``config/``.
        predictions: whether to select predictions that are fully scored, instead of artefacts that
            no plan needs.
        days: minimum age of garbage, days.
        forget_after: ignore checkouts without a run in this number of days; None for all checkouts.
        yes: whether to delete what is listed.
    """
    loaded = [config.load(path) for path in configfiles or scale_files()]
    stores = {scale.folders(one.scale.paths)["store"] for one in loaded}
    if len(stores) > 1:
        raise StpError(
            f"the scale files name several stores: {', '.join(sorted(map(str, stores)))}",
            remedy="set STP_STORE_DIR, or name scale files of one store with --configfile",
        )
    (root,) = stores
    assert root
    require(root)  # before seconds of planning
    plans = [Plan(one) for one in loaded]
    oldest = time.time() - forget_after * DAY if forget_after is not None else 0.0
    claims = [claim for claim in read_claims(root) if claim.time >= oldest]
    search = find_predictions if predictions else find
    meter = CountMeter("gc")
    needs = needed_artefacts(plans, claims)
    garbage = search(root, needs, days * DAY, meter)
    meter.clear()
    print(f"store: {root}")
    print(wrap_line(f"scales: {', '.join(plan.config.scale.scale for plan in plans)}", 80))
    for line in lines(garbage, claims, days):
        print(line)
    if yes:
        delete(root, garbage.deletable, lambda item: print(f"deleted {item.folder}"), needs, oldest)
    elif garbage.deletable:
        print("nothing was deleted: add --yes")


def scale_files(folder: Path = CONFIG_FOLDER) -> list[Path]:
    """List those files of a folder that are scale files (which say what is evaluated)."""
    paths = sorted(folder.glob("*.yaml"))
    return [path for path in paths if "dimensions" in (read_yaml(path) or {})]
