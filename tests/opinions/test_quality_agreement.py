"""Queries of docs/pvqa.md: models by predicted quality, and who else ranks them so."""

import re
from pathlib import Path

import duckdb
import pytest
from small_store import SmallStore, convention_facts, dataset_facts, model_facts

from stp.collect.database import build
from stp.collect.query import answer
from stp.collect.scores import collect

PAGE = (Path(__file__).parents[2] / "docs" / "pvqa.md").read_text()
PEOPLE = "results/paper/tables/human_preferences.csv"
METRIC = "predicted_quality.squeezenet"
QUALITY = {"tau": 70.0, "convlstm": 60.0, "simvpv2": 50.0, "persistence": None}


def query(name: str) -> str:
    """A statement of the page, by what is written above it."""
    (found,) = re.findall(rf"<!-- {name} -->\n```sql\n(.*?)```", PAGE, re.S)
    return found


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """FVD ranks as people would, LPIPS the other way; one model is far from all rated videos."""
    store = SmallStore(tmp_path)
    directions = {METRIC: True, "fvd.predicted_only": False, "lpips.alex": False}
    store.manifest |= {
        "conventions": {name: convention_facts(up) for name, up in directions.items()},
        "tables": {"short_term": {"columns": {"kth": {name: name for name in directions}}}},
        "unavailable": {},
        "datasets": {"kth": dataset_facts()},
        "names": {"models": {name: name.upper() for name in QUALITY}, "datasets": {"kth": "KTH"}},
        "models": {name: model_facts() for name in QUALITY},
    }
    for place, (name, quality) in enumerate(QUALITY.items()):
        values = {
            METRIC: {"mean": quality, "reason": None if quality else "far"},
            "fvd.predicted_only": {"mean": float(place)},
            "lpips.alex": {"mean": float(-place)},
        }
        store.add(name, "kth", values)
    manifest = store.write()
    collect(manifest, tmp_path / "rows.parquet")
    build([manifest], [tmp_path / "rows.parquet"], tmp_path / "results.duckdb")
    return tmp_path / "results.duckdb"


def test_models_are_sorted_and_compared_with_other_metrics(database: Path):
    _, rows = answer(
        database,
        "SELECT model, rank, reason FROM leaderboard WHERE metric = 'predicted_quality' "
        "ORDER BY rank NULLS LAST",
    )
    assert rows == [("tau", 1, None), ("convlstm", 2, None), ("simvpv2", 3, None),
                    ("persistence", None, "far")]  # fmt: skip
    _, rows = answer(database, query("agreement with metrics"))
    assert [row[2:] for row in rows] == [("fvd.predicted_only", 3, 1), ("lpips.alex", 3, -1)]


def test_and_with_people(database: Path, tmp_path: Path):
    rows = ["TAU,0.2", "CONVLSTM,0.3", "SIMVPV2,0.5", "I cannot tell,0"]
    people = tmp_path / "human_preferences.csv"
    people.write_text("dataset,group,model,share\n" + "".join(f"KTH,,{row}\n" for row in rows))
    statement = query("agreement with people").replace(PEOPLE, str(people))
    with duckdb.connect(database, read_only=True) as store:
        found = store.sql(statement).fetchall()
    assert [row[2:] for row in found] == [(3, -1)]
