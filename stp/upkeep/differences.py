"""Find the differences between an existing artefact and the planned one.

A receipt contains the recipe, the inputs and the hashes of all modules and definitions when the
artefact was made; the plan has the current ones. A comparison lists the changes because of which
the artefact is made again.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from stp.core.fingerprint import definitions_of
from stp.core.provenance import versions
from stp.core.receipts import Json, Receipt, RecordedCode, read_receipt
from stp.plan.artefacts import Artefact, Raw, fingerprint_of
from stp.plan.cells import Plan
from stp.upkeep.inventory import FINGERPRINT

LONGEST = 60
"""Maximum number of characters of a value of a recipe; longer values are cut."""
UNSET = "unset"
"""Text in place of the value of a key that a recipe does not have."""


@dataclass(frozen=True)
class Difference:
    """One reason why a planned artefact has another fingerprint than an older one.

    Attributes:
        kind: what differs: ``code``, ``recipe``, ``input`` (an input was added, removed or changed
            in an unknown way) or ``raw`` (raw files).
        text: the reason, e.g. ``module stp.metrics.ssim changed: _group``.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Comparison:
    """The differences between a planned artefact and an older one.

    Attributes:
        folder: folder of the older artefact, relative to the store.
        receipt: receipt of the older artefact.
        own: differences of code and recipe of the artefact itself.
        inputs: differences of the inputs, by name of the input.
    """

    folder: str
    receipt: Receipt
    own: list[Difference]
    inputs: dict[str, list[Difference]]

    @property
    def all(self) -> list[Difference]:
        """All differences, the root causes first, each once."""
        differences = [difference for inner in self.inputs.values() for difference in inner]
        return list(dict.fromkeys(differences + self.own))

    @property
    def only_code(self) -> bool:
        """Whether only code differs, that of the artefact or of its inputs."""
        return bool(self.own) and {difference.kind for difference in self.all} == {"code"}


class OlderArtefacts:
    """The existing artefacts of a store, to compare with those of a plan.

    Args:
        plan: the plan, which names the store.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._receipts: dict[str, Receipt | None] = {}
        self._comparisons: dict[tuple[str, str], Comparison] = {}

    def receipt(self, folder: str) -> Receipt | None:
        """Read the receipt in a folder of the store, with a cache; None if it is missing."""
        if folder not in self._receipts:
            self._receipts[folder] = read_receipt(self.plan.store / folder)
        return self._receipts[folder]

    def nearest(self, artefact: Artefact) -> Comparison | None:
        """Compare a planned artefact with the most similar older one.

        This is the one with the fewest differences, and of several of these the newest.

        Returns:
            the comparison; None if no older artefact has the same path up to the fingerprint.
        """
        parent = str(PurePosixPath(artefact.folder).parent)
        try:
            names = sorted(path.name for path in (self.plan.store / parent).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return None
        comparisons = []
        for name in names:
            folder = f"{parent}/{name}"
            if name != artefact.fingerprint and FINGERPRINT.fullmatch(name):
                receipt = self.receipt(folder)
                if receipt is not None:
                    comparisons.append(self.compare(artefact, folder, receipt))
        return min(comparisons, key=lambda c: (len(c.all), -finish_time(c.receipt)), default=None)

    def compare(self, artefact: Artefact, folder: str, receipt: Receipt) -> Comparison:
        """Compare code, recipe and inputs of a planned artefact with those of an existing one.

        Args:
            artefact: the planned artefact.
            folder: folder of the existing artefact, relative to the store.
            receipt: receipt of the existing artefact.

        Returns:
            the differences of code and recipe, and those of each input that differs.
        """
        key = artefact.folder, folder
        if key not in self._comparisons:
            own = list(_code(self.plan, artefact, receipt.code))
            own += _recipe(artefact, receipt.recipe)
            inputs = {}
            for name in sorted({*artefact.inputs, *receipt.inputs}):
                differences = self._input(artefact, name, folder, receipt)
                if differences:
                    inputs[name] = differences
            self._comparisons[key] = Comparison(folder, receipt, own, inputs)
        return self._comparisons[key]

    def _input(
        self, artefact: Artefact, name: str, folder: str, receipt: Receipt
    ) -> list[Difference]:
        now, then = artefact.inputs.get(name), receipt.inputs.get(name)
        if now is None or then is None:
            change = f"{artefact.stage} has {'no' if now is None else 'an'} input {name} now"
            return [Difference("input", change)]
        if isinstance(now, Raw):
            return list(_raw(now, then, folder, receipt))
        if now.folder == then:
            return []
        older = self.receipt(then)
        if older is None:
            return [
                Difference(
                    "input", f"its {name} changed; {then} is missing, so the change is unknown"
                )
            ]
        return self.compare(now, then, older).all


def finish_time(receipt: Receipt) -> float:
    """Read from a receipt when an artefact was finished, as Unix time; 0 if unknown."""
    return receipt.provenance.finished or 0.0


def other_versions(receipt: Receipt) -> str | None:
    """Describe packages whose versions differ from those with which an artefact was made.

    Returns:
        text such as ``made with numpy 2.0.0 (here: numpy 2.1.0)``; None if all versions are equal.
    """
    then = receipt.provenance.packages
    other = {
        name: (then[name], version)
        for name, version in versions().items()
        if name in then and then[name] != version
    }
    if not other:
        return None
    made, now = (", ".join(f"{name} {pair[i]}" for name, pair in other.items()) for i in (0, 1))
    return f"made with {made} (here: {now})"


def _raw(now: Raw, then: str, folder: str, receipt: Receipt) -> Iterator[Difference]:
    change = f"the raw files of {now.dataset} changed"
    if now.lock != then:
        names = f"{PurePosixPath(then).name} -> {PurePosixPath(now.lock).name}"
        yield Difference("raw", f"{change}: {names} (release, or its generator and options)")
        return
    # Receipts do not list the declared files, but these determine the old fingerprint.
    made_of = {"raw": now.identity}
    code, recipe = receipt.code.fingerprint, receipt.recipe
    if fingerprint_of(receipt.stage, code, recipe, made_of) != Path(folder).name:
        declared = f"config/datasets/{now.dataset}.yaml, release {now.release}"
        yield Difference("raw", f"{change}: other paths are declared ({declared})")


def _code(plan: Plan, artefact: Artefact, then: RecordedCode) -> Iterator[Difference]:
    if artefact.code.fingerprint == then.fingerprint:
        return
    now, before = artefact.code.modules, then.modules
    for module in sorted({*now, *before}):
        if now.get(module) == before.get(module):
            continue
        if module not in before:
            yield Difference("code", f"module {module} is new")
        elif module not in now:
            yield Difference("code", f"module {module} is no longer used")
        else:
            old = then.definitions.get(module)
            new = definitions_of([module], plan.source).get(module, {})
            names = "" if old is None else f": {', '.join(changed_names(old, new))}"
            yield Difference("code", f"module {module} changed{names}")


def changed_names(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """List the definitions of a module that were changed, added or removed.

    Args:
        old: hash of each definition (function, class, field or constant) in the older code, by its
            name, from `stp.core.fingerprint.definitions_of`.
        new: the same for the current code.

    Returns:
        sorted names; those of added and removed definitions end in ``(new)`` and ``(removed)``. If
        no definition differs, the only entry says that their order does.
    """
    names = []
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            note = "" if name in old and name in new else " (new)" if name in new else " (removed)"
            names.append(name + note)
    return names or ["the order of its definitions"]


def _recipe(artefact: Artefact, then: Json) -> Iterator[Difference]:
    now = json.loads(json.dumps(artefact.recipe))  # tuples become lists, as in a receipt
    subject = artefact.recipe.get("cell", artefact.recipe)
    name = subject.get("model") or subject.get("dataset")
    for key, change in _changes(then, now):
        yield Difference("recipe", f"{artefact.stage} recipe of {name}: {key}: {change}")


def _changes(old: Any, new: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each dotted key at which two values differ, with a text about the difference.

    Added or removed definitions (a mapping of names to mappings, such as conventions) are named
    without their content.
    """
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict) and (old or new):
        are_definitions = bool(key) and all(
            isinstance(value, dict) for value in (*old.values(), *new.values())
        )
        if are_definitions and old.keys() != new.keys():
            yield key, _members(list(old), list(new))
        for name in sorted(old.keys() & new.keys() if are_definitions else old.keys() | new.keys()):
            inner = f"{key}.{name}" if key else name
            yield from _changes(old.get(name, UNSET), new.get(name, UNSET), inner)
    elif isinstance(old, dict) and old and new is UNSET:
        yield from _changes(old, {}, key)
    elif isinstance(new, dict) and new and old is UNSET:
        yield from _changes({}, new, key)
    elif isinstance(old, list) and isinstance(new, list):
        yield key, _members(old, new)
    else:
        yield key, f"{_value(old)} -> {_value(new)}"


def _members(old: list[Any], new: list[Any]) -> str:
    """Text about a changed list: the entries that it lost and gained, or both lists."""
    lost, gained = ([str(x) for x in a if x not in b] for a, b in ((old, new), (new, old)))
    if len(lost) + len(gained) == 0 or len(lost) == len(old):
        return f"{_value(old)} -> {_value(new)}"
    parts = [("without", lost), ("with", gained)]
    return "now " + " and ".join(f"{word} {', '.join(names)}" for word, names in parts if names)


def _value(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
