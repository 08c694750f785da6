"""Declare that artefacts of older code are current, or withdraw such declarations.

An accepted artefact is used in place of one that the current code would make.
"""

import getpass
import time
from collections.abc import Callable
from pathlib import PurePosixPath

from stp.core.disk import write_text
from stp.core.errors import StpError
from stp.core.fingerprint import digest
from stp.core.provenance import commit
from stp.plan.accepted import Accepted, entry_path, read_accepted
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.status import DONE, artefact_states
from stp.upkeep.differences import OlderArtefacts
from stp.upkeep.why import select_artefacts


def accept(make_plan: Callable[[], Plan], words: list[str], reason: str) -> list[Accepted]:
    """Declare older artefacts current, if they differ from planned ones in nothing but code.

    Accepted artefacts are not made again. Artefacts made from them can then be accepted too, so the
    plan is made again until nothing is left to accept.

    Args:
        make_plan: function that makes the plan.
        words: words that select artefacts, e.g. ``["convlstm", "kth"]``. An artefact is selected if
            each word is its stage, or one of the names between the slashes of its path. A word with
            a slash is the path of a receipt, and selects its artefact. Empty for all artefacts.
        reason: why the current code gives the same results.

    Returns:
        the new entries, in the order of the plan.

    Raises:
        StpError: the words select no artefact, no selected artefact differs from an older one only
            in code, or the reason is empty.
    """
    if not reason.strip():
        raise StpError("no --reason is given")
    entries: list[Accepted] = []
    while True:
        plan = make_plan()
        past, standing = OlderArtefacts(plan), artefact_states(plan)
        new: list[Accepted] = []
        refused: list[str] = []
        for artefact in _select_unaccepted(plan, words, entries):
            if standing[artefact.folder].state == DONE:
                continue
            older = past.nearest(artefact)
            if older is not None and not older.inputs and older.only_code:
                old = PurePosixPath(older.folder).name
                new.append(_entry(artefact, old, reason))
            else:
                why = "; ".join(d.text for d in older.all) if older else "no older artefact"
                refused.append(f"{artefact.stage} of {artefact.label}: {why}")
        if not new:
            break
        for entry in new:
            write_text(entry_path(plan.store, entry.new), entry.model_dump_json(indent=1) + "\n")
        entries += new
    if not entries:
        raise StpError(
            "nothing to accept: no artefact differs in its code alone"
            + "".join(f"\n  {text}" for text in refused[:5]),
            remedy="`stp why WORDS` shows what changed; accept the inputs first",
        )
    return entries


def undo(plan: Plan, words: list[str]) -> list[Accepted]:
    """Withdraw declarations of `accept`: the older artefacts are no longer current.

    Args:
        plan: a plan on the store of the artefacts.
        words: words that select accepted artefacts, e.g. ``["convlstm", "kth"]``. An artefact is
            selected if each word is its stage, one of the names between the slashes of its path, or
            the fingerprint of the older or the planned artefact. Empty for all.

    Returns:
        the withdrawn entries.

    Raises:
        StpError: no accepted artefact has these words.
    """
    entries = [
        entry
        for entry in read_accepted(plan.store).values()
        if {*entry.address.split("/"), entry.stage, entry.old, entry.new}.issuperset(words)
    ]
    if not entries:
        raise StpError(
            f"no accepted artefact has the words {' '.join(words)!r}",
            remedy=f"the entries are files in {entry_path(plan.store, '').parent}",
        )
    for entry in entries:
        entry_path(plan.store, entry.new).unlink()
    return entries


def _select_unaccepted(plan: Plan, words: list[str], entries: list[Accepted]) -> list[Artefact]:
    """The selected artefacts, without those whose receipts were accepted meanwhile."""
    accepted = {f"{entry.address}/{entry.new}" for entry in entries}
    waiting = [word for word in words if not any(folder in word for folder in accepted)]
    return select_artefacts(plan, waiting) if waiting or not words else []


def _entry(artefact: Artefact, old: str, reason: str) -> Accepted:
    return Accepted(
        stage=artefact.stage,
        address=str(PurePosixPath(artefact.folder).parent),
        recipe=digest(artefact.recipe),
        old=old,
        new=artefact.fingerprint,
        reason=reason,
        author=getpass.getuser(),
        commit=commit(),
        date=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
