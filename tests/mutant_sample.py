"""Random changes of one token, by cosmic-ray's operators, for tests/mutants.py."""

import ast
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import cosmic_ray.plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

ROOT = Path(__file__).parents[1]
GENERATORS = (
    *("generator", "crowd", "situation", "centre", "centres", "learned", "scenarios"),
    *("chaotic_waves", "generated_surface"),
)
"""Modules of datasets that generate files: other files would do as well."""
NO_OPERATORS = ("ExceptionReplacer", "RemoveDecorator", "VariableReplacer", "VariableInserter")


class Change(NamedTuple):
    """A change of one token.

    Attributes:
        path: of the module, from the root.
        operator: of cosmic-ray.
        occurrence: which of the operator's places in the module.
        line: number of the line.
    """

    path: str
    operator: str
    occurrence: int
    line: int

    @property
    def name(self) -> str:
        """What it is called in a file of results."""
        return f"{self.path}:{self.line}:{self.operator}:{self.occurrence}"


def sample(rooms: Sequence[str], count: int, seed: int) -> list[Change]:
    """Draw places in folders of ``stp/``, each alike, and for each place one of its changes.

    Each place draws for itself, so an edit of a module changes the places in that module only.
    """
    places: dict[tuple[str, tuple[int, int]], list[Change]] = {}
    for room in rooms:
        for path in sorted((ROOT / "stp" / room).rglob("*.py")):
            if room == "datasets" and path.stem in GENERATORS:
                continue
            for at, change in changes_of(path):
                places.setdefault((change.path, at), []).append(change)
    draws = {place: random.Random(f"{seed} {place}") for place in places}
    order = sorted(places, key=lambda place: draws[place].random())
    return [draws[place].choice(places[place]) for place in order[:count]]


def changes_of(path: Path) -> Iterator[tuple[tuple[int, int], Change]]:
    """All changes of a module with where they begin; annotations of types are left alone."""
    source = path.read_text(encoding="utf-8")
    nodes = list(ast_nodes(get_ast(source)))
    kept_out = annotations(source)
    for name in sorted(cosmic_ray.plugins.operator_names()):
        if name.rpartition("/")[2] in NO_OPERATORS:
            continue
        operator = cosmic_ray.plugins.get_operator(name)()
        found = [at for node in nodes for at, _ in operator.mutation_positions(node)]
        for occurrence, at in enumerate(found):
            if not any(first <= at < last for first, last in kept_out):
                place = str(path.relative_to(ROOT))
                yield at, Change(place, name, occurrence, at[0])


def annotations(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where types are annotated: changes there do nothing, or fail at the import."""
    found = []
    for node in ast.walk(ast.parse(source)):
        for name in ("annotation", "returns"):
            one = getattr(node, name, None)
            if isinstance(one, ast.expr) and one.end_lineno is not None:
                last = (one.end_lineno, one.end_col_offset or 0)
                found.append(((one.lineno, one.col_offset), last))
    return found


def changed(change: Change, source: str) -> str:
    """The text of a module after a change."""
    operator = cosmic_ray.plugins.get_operator(change.operator)()
    text = mutate_code(source, operator, change.occurrence)
    assert text is not None, change
    return str(text)
