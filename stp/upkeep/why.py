"""Explain why artefacts would be made, from receipts, records of attempts and the plan."""

import time
from dataclasses import dataclass

from stp.core import store
from stp.core.errors import StpError, remake_advice, suggest_name
from stp.core.receipts import RECEIPT, Receipt, read_receipt
from stp.core.units import duration
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.runner import state_folder
from stp.run.status import DONE, RUNNING, ArtefactState, artefact_states
from stp.upkeep.differences import Comparison, OlderArtefacts, finish_time, other_versions


@dataclass(frozen=True)
class Reason:
    """Explanation of why the next run would make an artefact (the folder of one job), or not.

    Attributes:
        artefact: the artefact.
        verdict: state of the artefact, in a few words.
        because: the reasons, one per line.
        older: comparison with the most similar older artefact, if the artefact does not exist.
    """

    artefact: Artefact
    verdict: str
    because: list[str]
    older: Comparison | None = None


def select_artefacts(plan: Plan, words: list[str]) -> list[Artefact]:
    """Select artefacts (folders that jobs write) of a plan by words of their paths.

    Args:
        plan: the plan of the artefacts.
        words: words that must all occur in a path, such as a model and a dataset; a word with a
            slash is the path of a receipt. All artefacts are selected without words.

    Raises:
        StpError: no artefact matches.
    """
    paths = [word for word in words if "/" in word]
    artefacts = [plan.find(path) for path in paths]
    rest = [word for word in words if word not in paths]
    if rest or not paths:
        artefacts += [a for a in plan.artefacts.values() if a.words.issuperset(rest)]
    if not artefacts:
        known = {word for a in plan.artefacts.values() for word in a.words - {a.fingerprint}}
        unknown = [word for word in rest if word not in known]
        raise StpError(
            f"no artefact of the plan matches {' '.join(words)!r}",
            expected="words of a path, such as `convlstm kth`, or the path of a receipt",
            remedy=suggest_name(unknown[0], known) if unknown else "use fewer words",
        )
    return list(dict.fromkeys(artefacts))


def explain(
    plan: Plan, artefact: Artefact, past: OlderArtefacts, standing: ArtefactState
) -> Reason:
    """Explain why the next run would make an artefact (the folder of one job), or would not.

    Args:
        plan: the plan that contains the artefact.
        artefact: the artefact.
        past: the older artefacts of the store.
        standing: state of the artefact (stp.run.status.artefact_states).
    """
    folder = plan.store / artefact.folder
    receipt = read_receipt(folder)
    if receipt is not None:
        return _explain_present(plan, artefact, receipt)
    tried = [f"attempt {a.attempt}: {a.how} ({a.detail})" for a in standing.attempts if a.how]
    state = state_folder(plan, artefact.folder)
    if any((state / saved).exists() for saved in ("training.pt", "scored")):
        tried.append("continues from its checkpoint")
    if standing.state == RUNNING:
        percent = "" if standing.percent is None else f", {standing.percent} %"
        return Reason(artefact, f"is being made {standing.where}{percent}", tried)
    older = past.nearest(artefact)
    because = [d.text for d in older.all] if older else ["there is no similar artefact"]
    if older and not because:
        because = [
            "an older artefact with the same code, recipe and inputs has another fingerprint"
        ]
    if failure := standing.failure:
        because = [f"it failed: {failure.error}", f"log: {failure.log}", *because]
    return Reason(artefact, "would be made", because + tried, older)


def _explain_present(plan: Plan, artefact: Artefact, receipt: Receipt) -> Reason:
    folder = plan.store / artefact.folder
    finished = time.strftime("%Y-%m-%d %H:%M", time.localtime(finish_time(receipt)))
    took = duration(receipt.provenance.seconds or 0)
    host = receipt.provenance.host or "?"
    if store.is_dropped(folder):
        text = "its data were deleted to free space; tables need only its receipt"
        return Reason(artefact, "is made again only if a score needs it", [text])
    missing = store.missing_files(folder, receipt)
    if missing:
        names = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        text = f"{len(missing)} of {len(receipt.files)} files are missing or truncated: {names}"
        return Reason(artefact, "is damaged", [text, remake_advice(folder)])
    because = [f"made {finished} in {took} on {host}"]
    because += filter(None, [artefact.accepted, other_versions(receipt)])
    if not (folder / RECEIPT).exists():
        text = "its receipt was deleted; the sealed copy is restored, and nothing is computed"
        return Reason(artefact, "would be adopted", [text, *because])
    return Reason(artefact, "is done", because)


def explain_missing(plan: Plan) -> list[Reason]:
    """Explain why each unfinished artefact (the folder of one job) of a plan would be made."""
    past, standing = OlderArtefacts(plan), artefact_states(plan)
    return [
        explain(plan, artefact, past, standing[folder])
        for folder, artefact in plan.artefacts.items()
        if standing[folder].state != DONE
    ]
