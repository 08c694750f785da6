"""What a store holds and nobody needs: found with reasons, deleted only when told to.

Needed is what the plans at hand have, and what any checkout claimed when it started a run
(stp/upkeep/claims.py). Whatever has a living process, and whatever is young, stays.
"""

import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stp.core import store
from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.core.receipts import RECEIPT, read_receipt
from stp.core.units import size_text
from stp.page.plain_table import folded
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml
from stp.run.meter import CountMeter
from stp.upkeep.claims import Claim, made_from, read_claims
from stp.upkeep.inventory import artefacts, changed_at, leftovers, require, size_of, states

DAY = 24 * 3600.0
Needed = dict[str, list[str]]
"""Artefact folders, each with those that it is made from."""
KINDS = ("artefact", "predictions", "leftover", "state")


@dataclass(frozen=True)
class Rubbish:
    """Something that can be deleted.

    Attributes:
        kind: one of `KINDS`.
        folder: relative to the store.
        holder: folder with the lease of whoever may be working on it.
        why: nobody needs it.
        bytes: on disk.
        files: their number.
        time: of the last change.
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
    """The garbage of a store, and what stays although no plan needs it.

    Attributes:
        rubbish: what can be deleted.
        young: number of things that are not old enough.
        running: artefacts that are being made and that no known plan has; their inputs are
            unknown, so no artefact may be deleted now.
    """

    rubbish: list[Rubbish]
    young: int
    running: list[str]


def needed(plans: Iterable[Plan], claims: Iterable[Claim]) -> Needed:
    """List all artefact folders that a plan or a claim has, with what they are made from."""
    wanted: Needed = {}
    for made in (*(made_from(plan) for plan in plans), *(claim.artefacts for claim in claims)):
        wanted |= made
    return wanted


def find(
    root: Path, wanted: Needed, older_than: float = 7 * DAY, report: Report = silent
) -> Garbage:
    """Find what no plan needs.

    Args:
        root: the store.
        wanted: artefact folders that stay, from `needed`.
        older_than: seconds since the last change; for leftovers at least a day.
        report: called with the things that were looked at.
    """
    kept = list(states(root))
    held = {folder for folder in kept if store.is_held(root / "state" / folder)}
    running = sorted(held - wanted.keys())
    rubbish: list[Rubbish] = []
    young = 0
    candidates = _candidates(root, wanted, kept)
    for done, (kind, folder, holder, why) in enumerate(candidates):
        report("looked at", done, len(candidates))
        if store.is_held(root / holder):
            continue
        try:
            changed = changed_at(root / folder)
            size, files = size_of(root / folder)
        except FileNotFoundError:  # somebody finished or removed it meanwhile
            continue
        if time.time() - changed < (max(DAY, older_than) if kind == "leftover" else older_than):
            young += 1
        elif not (kind == "artefact" and running):
            rubbish.append(Rubbish(kind, folder, holder, why, size, files, changed))
    return Garbage(rubbish, young, running)


def _candidates(root: Path, wanted: Needed, kept: list[str]) -> list[tuple[str, str, str, str]]:
    """List what might go, as (kind, folder, holder, why)."""
    found = [
        ("artefact", folder, f"state/{folder}", "no plan needs it")
        for folder in artefacts(root)
        if folder not in wanted
    ]
    for folder, meant_for in leftovers(root):
        # Below state it is the remains of an import or of state, with a lease of its own.
        holder = folder if folder.startswith("state/") else f"state/{meant_for}"
        found.append(("leftover", folder, holder, _LEFT[folder.rpartition(".")[2]]))
    for folder in kept:
        state = f"state/{folder}"
        if store.is_complete(root / folder):
            found.append(("state", state, state, "its artefact is finished"))
        elif folder not in wanted:
            found.append(("state", state, state, "no plan needs its artefact"))
    return found


_LEFT = {
    "partial": "left by a process that was killed",
    "damaged": "was damaged and has been made again",
    "garbage": "left by a `stp store gc` that was killed",
}


def find_predictions(
    root: Path, wanted: Needed, older_than: float = 7 * DAY, report: Report = silent
) -> Garbage:
    """Find predictions whose data can go, because everything that is made of them is there.

    All of it that any plan needs has to be finished.
    """
    made_of: dict[str, list[str]] = {}
    for folder, inputs in wanted.items():
        for given in inputs:
            made_of.setdefault(given, []).append(folder)
    # Scores and features that no plan has may be made just now, of any predictions of their cell.
    busy = [folder for folder in states(root) if store.is_held(root / "state" / folder)]
    rubbish, young = [], 0
    planned = sorted(folder for folder in wanted if folder.startswith("predictions/"))
    for done, folder in enumerate(planned):
        report("looked at", done, len(planned))
        path, users = root / folder, made_of.get(folder, [])
        of_cell = f"/{_cell(folder)}/"
        if not users or any(of_cell in one for one in busy) or not store.is_complete(path):
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
            rubbish.append(Rubbish("predictions", folder, holder, why, size, files, changed))
    return Garbage(rubbish, young, [])


def _cell(folder: str) -> str:
    """The path of a cell, which is part of those of its predictions, features and scores."""
    return folder.rpartition("/")[0].partition("/")[2]


def delete(
    root: Path,
    rubbish: Iterable[Rubbish],
    say: Callable[[Rubbish], None],
    wanted: Needed | None = None,
    oldest: float = 0.0,
) -> None:
    """Delete what was found, unless a run has begun that may need it by now.

    A folder loses its name in one step, so nobody ever sees half an artefact.

    Args:
        root: the store.
        rubbish: from `find` or `find_predictions`, which take long in a large store.
        say: is told of each before it goes.
        wanted: artefact folders that were known to be needed.
        oldest: Unix time; claims before it do not count.
    """
    for item in rubbish:
        path = root / item.folder
        if not path.exists() or _is_needed_by_now(root, item, wanted or {}, oldest):
            continue
        say(item)
        if item.kind == "predictions":
            store.drop(path, "stp store gc --predictions")
            continue
        aside = path.with_name(f".{path.name.lstrip('.')}.{uuid.uuid4().hex[:8]}.garbage")
        try:
            path.rename(aside)
        except FileNotFoundError:  # somebody else deletes, too
            continue
        if store.is_held(aside):  # somebody took it just before
            aside.rename(path)
            continue
        shutil.rmtree(aside, ignore_errors=True)


def _is_needed_by_now(root: Path, item: Rubbish, wanted: Needed, oldest: float) -> bool:
    """Has a run begun since something was listed that has it, or may need it?"""
    if store.is_held(root / item.holder):
        return True
    claims = [claim for claim in read_claims(root) if claim.time >= oldest]
    held = {folder for folder in states(root) if store.is_held(root / "state" / folder)}
    claimed = needed([], claims)
    if item.kind == "artefact":
        return item.folder in claimed or bool(held - claimed.keys() - wanted.keys())
    if item.kind == "predictions":
        users = [user for user, made_of in claimed.items() if item.folder in made_of]
        of_cell = f"/{_cell(item.folder)}/"
        return any(of_cell in one for one in held) or not all(
            (root / user / RECEIPT).exists() for user in users
        )
    return False


def lines(found: Garbage, claims: list[Claim], days: float) -> Iterator[str]:
    """Write down what was found, why it may go, and who needs the rest."""
    for claim in claims:
        yield f"needed by {claim}: {len(claim.artefacts)} artefacts"
    for item in found.rubbish:
        day = time.strftime("%Y-%m-%d", time.localtime(item.time))
        yield f"{size_text(item.bytes):>9}  {day}  {item.folder}  ({item.why})"
    if found.running:
        yield (
            f"{', '.join(found.running)} is being made, and no known plan has it: what it needs "
            "is unknown, so artefacts stay until it has ended"
        )
    if found.young:
        yield f"{found.young} younger than {days:g} days stay (--older-than)"
    counts = [
        f"{kind} {sum(item.kind == kind for item in found.rubbish)}"
        for kind in KINDS
        if any(item.kind == kind for item in found.rubbish)
    ]
    size = size_text(sum(item.bytes for item in found.rubbish))
    files = sum(item.files for item in found.rubbish)
    yield f"{size} in {files} files: {', '.join(counts)}" if counts else "nothing to delete"


def collect(
    configfiles: list[Path] | None,
    predictions: bool,
    days: float,
    forget_after: float | None,
    yes: bool,
) -> None:
    """Be ``stp store gc``: list, and with ``yes`` delete."""
    plans = [Plan.load(path) for path in configfiles or scale_files()]
    stores = {plan.store for plan in plans}
    if len(stores) > 1:
        raise StpError(
            f"the scale files name several stores: {', '.join(map(str, sorted(stores)))}",
            expected="one store at a time",
            remedy="set STP_STORE_DIR, or name scale files of one store with --configfile",
        )
    (root,) = stores
    require(root)
    oldest = time.time() - forget_after * DAY if forget_after is not None else 0.0
    claims = [claim for claim in read_claims(root) if claim.time >= oldest]
    search = find_predictions if predictions else find
    meter = CountMeter("gc")
    wanted = needed(plans, claims)
    found = search(root, wanted, days * DAY, meter)
    meter.clear()
    print(f"store: {root}")
    print(folded(f"scales: {', '.join(plan.config.scale.scale for plan in plans)}", 80))
    for line in lines(found, claims, days):
        print(line)
    if yes:
        delete(root, found.rubbish, lambda item: print(f"deleted {item.folder}"), wanted, oldest)
    elif found.rubbish:
        print("nothing was deleted; `--yes` does")


def scale_files(folder: Path = CONFIG_FOLDER) -> list[Path]:
    """List the scale files among the files of a folder."""
    paths = sorted(folder.glob("*.yaml"))
    return [path for path in paths if "dimensions" in (read_yaml(path) or {})]
