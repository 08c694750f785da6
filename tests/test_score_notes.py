"""The note that scores have on their predictions, and the members that they count."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from stp.core.errors import StpError
from stp.options.score import NOTE
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.manifest_types import Cell
from stp.plan.manifests import manifest
from stp.plan.score_notes import with_score_note


@pytest.fixture(scope="module")
def planned() -> Cell:
    return manifest(Plan.load(CONFIG_FOLDER / "demo.yaml"), "short_term").cells[0]


@pytest.mark.parametrize(
    ("best_of", "content", "found"),
    [
        (1, {"note": "exact"}, (5, "ensemble_mean", 1, "a subset; exact")),
        (5, {"note": "exact", "members": 3}, (3, "ensemble_mean", 3, "a subset; exact")),
        (1, {"note": "exact", "members": 3}, (3, "ensemble_mean", 1, "a subset; exact")),
        (5, {"note": "subset", "members": 1}, (1, None, 1, "a subset")),  # is said already
        (5, {"note": "", "members": 2}, (2, "ensemble_mean", 2, "a subset")),
    ],
)
def test_a_note_is_added_and_members_are_those_that_count(
    planned: Cell, tmp_path: Path, best_of: int, content: dict, found: tuple
) -> None:
    cell = replace(
        planned, scores=str(tmp_path), subset_note="a subset", samples=5,
        statistic="ensemble_mean", best_of=best_of,
    )  # fmt: skip
    assert with_score_note(cell) == cell  # without a note
    (tmp_path / NOTE).write_text(json.dumps(content))
    now = with_score_note(cell)
    assert (now.samples, now.statistic, now.best_of, now.subset_note) == found


def test_a_damaged_note_is_named(planned: Cell, tmp_path: Path) -> None:
    (tmp_path / NOTE).write_text("[")
    with pytest.raises(StpError, match=NOTE):
        with_score_note(replace(planned, scores=str(tmp_path)))
