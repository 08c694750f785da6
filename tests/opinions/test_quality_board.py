"""Models of a results store, best predicted quality first, and who else ranks them so."""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from small_store import SmallStore, convention_facts, dataset_facts, model_facts

from stp.collect.database import build
from stp.collect.rows import CellRow
from stp.collect.scores import collect
from stp.core.errors import StpError
from stp.external import quality_board
from stp.external.quality import Clip, ClipRatings, Rating, Trained
from stp.external.quality_board import PEOPLE, Order, leaderboard

QUALITY = {"tau": 70.0, "convlstm": 60.0, "simvpv2": 50.0, "persistence": 30.0}


class Seer:
    """Rates clips by the model that made them; those of persistence are far from all others."""

    def rate(self, clips: Iterable[Clip], **_: object) -> ClipRatings:
        ratings = []
        for clip in clips:
            value = float(clip.frames[0, 0, 0, 0])
            known = None if value == QUALITY["persistence"] else value
            ratings.append(
                Rating(clip.name, 20, known, known, known, 1.0, "exact", "" if known else "far")
            )
        return ClipRatings(ratings, {"exact": Trained(0.8, 9.0)}, 60, "synthetic")


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """FVD ranks as people would, LPIPS the other way; the predictions of one model are not kept."""
    store = SmallStore(tmp_path)
    store.manifest["conventions"] = {
        name: convention_facts(False) for name in ("fvd.predicted_only", "lpips.alex")
    }
    columns = {"FVD": "fvd.predicted_only", "LPIPS": "lpips.alex"}
    store.manifest["tables"] = {"short_term": {"columns": {"kth": columns}}}
    store.manifest["unavailable"] = {}
    store.manifest["datasets"] = {"kth": dataset_facts()}
    store.manifest["names"] = {"models": {"tau": "TAU"}, "datasets": {"kth": "KTH"}}
    store.manifest["models"] = {name: model_facts() for name in (*QUALITY, "mau")}
    for place, name in enumerate((*QUALITY, "mau")):
        values = {"fvd.predicted_only": {"mean": place}, "lpips.alex": {"mean": -place}}
        store.add(name, "kth", values)
    manifest = store.write()
    collect(manifest, tmp_path / "rows.parquet")
    build([manifest], [tmp_path / "rows.parquet"], tmp_path / "results.duckdb")

    def clips(cell: CellRow, count: int | None) -> Iterable[Clip]:
        frames = np.full((20, 8, 8, 3), QUALITY[cell.model], np.uint8)
        yield from (Clip(f"a/{number}", frames, 4) for number in range(count or 4))

    monkeypatch.setattr(quality_board, "of_cell", clips)
    monkeypatch.setattr(
        quality_board, "place", lambda cell: None if cell.model == "mau" else tmp_path
    )
    return tmp_path / "results.duckdb"


def test_models_are_sorted_and_compared(database: Path, tmp_path: Path):
    people = tmp_path / "human_preferences.csv"
    rows = ["TAU,0.2", "convlstm,0.3", "simvpv2,0.5", "I cannot tell,0"]
    people.write_text("dataset,group,model,share\n" + "".join(f"KTH,,{row}\n" for row in rows))
    board = leaderboard(Seer(), database, "tested_on = 'kth'", 3, people)  # type: ignore[arg-type]
    assert [(one.model, one.rank, one.quality, one.rated) for one in board.places] == [
        ("TAU", 1, 70, 3),
        ("convlstm", 2, 60, 3),
        ("simvpv2", 3, 50, 3),
        ("persistence", None, None, 0),
        ("mau", None, None, 0),
    ]
    reasons = [one.reason for one in board.places[3:]]
    assert reasons == [quality_board.FAR, quality_board.NOT_KEPT]
    tested = board.places[0].tested
    assert board.orders == [
        Order(tested, "fvd.predicted_only", False, 3, pytest.approx(1)),
        Order(tested, "lpips.alex", False, 3, pytest.approx(-1)),
        Order(tested, PEOPLE, True, 3, pytest.approx(-1)),
    ]


def test_what_cannot_be_compared_is_said(database: Path, tmp_path: Path):
    seer = SimpleNamespace()
    with pytest.raises(StpError, match="no cell fits"):
        leaderboard(seer, database, "tested_on = 'nowhere'")  # type: ignore[arg-type]
    (tmp_path / "shares.csv").write_text("model,share\nTAU,0.5\n")
    with pytest.raises(StpError, match="cannot be read"):
        leaderboard(Seer(), database, "true", 1, tmp_path / "shares.csv")  # type: ignore[arg-type]
