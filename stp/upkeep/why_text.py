"""``stp why`` as text: reasons for people, and entries for config/equivalent.yaml."""

import json
import time
from collections.abc import Iterable, Iterator

from stp.core.errors import StpError
from stp.core.receipts import Json
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.plan.config import seal_of
from stp.run.meter import CountMeter
from stp.run.status import artefact_states
from stp.upkeep import prove as proof
from stp.upkeep.differences import Past, finished, made_with
from stp.upkeep.why import Reason, chosen, equivalents, explain, undone

LISTED = 12
"""Artefacts of one group that are named; the others are counted."""


def lines_of_one(reason: Reason) -> Iterator[str]:
    """Write down one artefact and its reasons."""
    artefact = reason.artefact
    yield f"{artefact.stage} of {artefact.label}: {reason.verdict}"
    yield f"  {artefact.folder}"
    if reason.older:
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(finished(reason.older.receipt)))
        yield f"  compared with {reason.older.folder}, made {made}:"
        others = made_with(reason.older.receipt)
        if others:
            yield f"  - it was {others}; versions count only where the scale file says so"
    inherited = [] if reason.older is None else [
        (f"its {name} changed: ", difference.text)
        for name, differences in reason.older.inputs.items() for difference in differences
    ]  # fmt: skip
    own = {d.text for d in reason.older.own} if reason.older else set()
    of_inputs = {text for _, text in inherited}
    for text in dict.fromkeys(reason.because):
        if text in own or text not in of_inputs:
            yield from _indented(text, "  - ")
    for before, text in inherited:
        yield from _indented(before + text, "  - ")


def lines_of_groups(reasons: Iterable[Reason]) -> Iterator[str]:
    """Write down many artefacts, those with the same reasons together."""
    groups: dict[tuple[str, ...], list[Artefact]] = {}
    for reason in reasons:
        groups.setdefault((reason.verdict, *reason.because), []).append(reason.artefact)
    for (verdict, *because), artefacts in groups.items():
        count = "1 artefact" if len(artefacts) == 1 else f"{len(artefacts)} artefacts"
        yield f"{count}: {verdict}"
        for text in because:
            yield from _indented(text, "  - ")
        for artefact in artefacts[:LISTED]:
            yield f"      {artefact.stage:<8} {artefact.label}"
        if len(artefacts) > LISTED:
            yield f"      and {len(artefacts) - LISTED} more"
    if not groups:
        yield "nothing would be made: every artefact of the plan is there"


def _indented(text: str, mark: str) -> Iterator[str]:
    for i, line in enumerate(text.splitlines()):
        yield (mark if i == 0 else " " * len(mark)) + line


def entry(old: str, new: str, reason: str = "...", evidence: Json | None = None) -> str:
    """Write an entry of config/equivalent.yaml; without evidence it would be refused."""
    proven: Json | str = "..."
    if evidence is not None:
        seal = seal_of({"old": old, "new": new, "evidence": evidence})
        proven = {**evidence, "seal": seal}
    texts = (json.dumps(what, ensure_ascii=False) for what in (reason, proven))
    return "- old: {}\n  new: {}\n  reason: {}\n  evidence: {}".format(
        *(f'"{hex}"' for hex in (old, new)), *texts
    )


def suggestion(reasons: Iterable[Reason]) -> Iterator[str]:
    """Say how to go on if a change of code cannot change results."""
    found = equivalents(reasons)
    if not found:
        return
    yield ""
    yield "If this code computes the same as before, prove it with a sample: the command writes the"
    yield "evidence of an entry in config/equivalent.yaml, and nothing is computed again:"
    for (old, new), reason in found.items():
        yield ""
        yield f"# stp why {reason.artefact.folder} --prove"
        yield entry(old, new, f"code of {reason.artefact.stage}: ...")


def tell(plan: Plan, words: list[str], prove: Json | None) -> bool:
    """Be ``stp why``: explain, and prove if asked to.

    Args:
        plan: the plan.
        words: name artefacts; none for all that would be made.
        prove: settings for computing samples again; None to explain only.

    Returns:
        False if a sample came out different.
    """
    if words:
        past, standing = Past(plan), artefact_states(plan)
        reasons = [explain(plan, a, past, standing[a.folder]) for a in chosen(plan, words)]
    else:
        reasons = undone(plan)
    if prove is not None:
        return _prove(plan, reasons, prove)
    if words:
        for i, reason in enumerate(reasons):
            print("\n".join(([""] if i else []) + list(lines_of_one(reason))))
    else:
        print("\n".join(lines_of_groups(reasons)))
    for line in suggestion(reasons):
        print(line)
    return True


def _prove(plan: Plan, reasons: list[Reason], runtime: Json) -> bool:
    found = equivalents(reasons)
    if not found:
        raise StpError(
            "nothing to prove: for none of these is code the only thing that changed",
            remedy="`stp why` without --prove tells what changed",
        )
    entries = []
    for (old, new), reason in found.items():
        artefact, older = reason.artefact, reason.older
        assert older is not None
        print(f"{artefact.stage} of {artefact.label}, again with the code of now:")
        meter = CountMeter(artefact.stage)
        compared = proof.prove(plan, artefact, older, meter, **runtime)
        meter.clear()
        for line in compared:
            print(f"  {line}")
        same = all(one.difference is None for one in compared)
        print("  identical" if same else "  NOT identical: the change of code changes results")
        if not same:
            return False
        changes = "; ".join(difference.text for difference in older.own)
        entries.append(entry(old, new, changes, proof.evidence(artefact, older, compared)))
    print("\nfor config/equivalent.yaml (say in `reason` what the change is for):\n")
    print("\n".join(entries))
    return True
