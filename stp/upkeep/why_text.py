"""Format the output of ``stp why``: why the next run would make artefacts."""

import time
from collections.abc import Iterable, Iterator

from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.status import artefact_states
from stp.upkeep.differences import OlderArtefacts, finish_time, other_versions
from stp.upkeep.why import Reason, explain, explain_missing, select_artefacts

LISTED = 12
"""Maximum number of named artefacts of a group; further ones are counted."""


def lines_of_one(reason: Reason) -> Iterator[str]:
    """Yield lines of text about an artefact, and why the next run would make it."""
    artefact = reason.artefact
    yield f"{artefact.stage} of {artefact.label}: {reason.verdict}"
    yield f"  {artefact.folder}"
    if reason.older:
        finished = time.strftime(
            "%Y-%m-%d %H:%M", time.localtime(finish_time(reason.older.receipt))
        )
        yield f"  compared with {reason.older.folder}, made {finished}:"
        others = other_versions(reason.older.receipt)
        if others:
            yield f"  - it was {others}; versions count only if the scale file says so"
    inherited = [] if reason.older is None else [
        (f"its {name} changed: ", difference.text)
        for name, differences in reason.older.inputs.items() for difference in differences
    ]  # fmt: skip
    own_texts = {d.text for d in reason.older.own} if reason.older else set()
    of_inputs = {text for _, text in inherited}
    for text in dict.fromkeys(reason.because):
        if text in own_texts or text not in of_inputs:
            yield from _indent_lines(text, "  - ")
    for before, text in inherited:
        yield from _indent_lines(before + text, "  - ")


def lines_of_groups(reasons: Iterable[Reason]) -> Iterator[str]:
    """Yield lines of text about many artefacts, grouped by why the next run would make them."""
    groups: dict[tuple[str, ...], list[Artefact]] = {}
    for reason in reasons:
        groups.setdefault((reason.verdict, *reason.because), []).append(reason.artefact)
    for (verdict, *because), artefacts in groups.items():
        count = "1 artefact" if len(artefacts) == 1 else f"{len(artefacts)} artefacts"
        yield f"{count}: {verdict}"
        for text in because:
            yield from _indent_lines(text, "  - ")
        for artefact in artefacts[:LISTED]:
            yield f"      {artefact.stage:<8} {artefact.label}"
        if len(artefacts) > LISTED:
            yield f"      and {len(artefacts) - LISTED} more"
    if not groups:
        yield "nothing would be made: all artefacts of the plan exist"


def _indent_lines(text: str, mark: str) -> Iterator[str]:
    for i, line in enumerate(text.splitlines()):
        yield (mark if i == 0 else " " * len(mark)) + line


def suggestion(reasons: Iterable[Reason]) -> Iterator[str]:
    """Yield advice to declare older artefacts current, if one differs in nothing but code."""
    if any(reason.older and reason.older.only_code for reason in reasons):
        yield ""
        yield "If this code computes the same as before, declare it to avoid computing again:"
        yield '  stp store accept WORDS --reason "what the change is for"'


def print_reasons(plan: Plan, words: list[str]) -> None:
    """Print why the next run would make artefacts of a plan.

    Args:
        plan: the plan.
        words: words that select artefacts, as in `stp.upkeep.why.select_artefacts`. Without words,
            all unfinished artefacts are selected, and grouped by their reasons.
    """
    if words:
        past, standing = OlderArtefacts(plan), artefact_states(plan)
        reasons = [
            explain(plan, a, past, standing[a.folder]) for a in select_artefacts(plan, words)
        ]
        for i, reason in enumerate(reasons):
            print("\n".join(([""] if i else []) + list(lines_of_one(reason))))
    else:
        reasons = explain_missing(plan)
        print("\n".join(lines_of_groups(reasons)))
    for line in suggestion(reasons):
        print(line)
