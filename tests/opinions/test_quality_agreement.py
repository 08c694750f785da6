"""Models by predicted quality, and whether other metrics rank them so: view quality_agreement."""

from pathlib import Path

import pytest
from scipy.stats import spearmanr
from small_store import (
    SmallStore,
    built,
    convention_facts,
    dataset_facts,
    model_facts,
    table_column,
)

from stp.collect.query import run_query

METRIC = "predicted_quality.squeezenet"
QUALITY = {"tau": 70.0, "convlstm": 60.0, "simvpv2": 50.0, "persistence": None}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """FVD ranks alike, LPIPS the other way, SSIM finds two equal; one model is far from all."""
    store = SmallStore(tmp_path)
    directions = {METRIC: True, "fvd.predicted_only": False, "lpips.alex": False}
    directions["ssim.range2"] = True
    store.manifest |= {
        "conventions": {name: convention_facts(up) for name, up in directions.items()},
        "tables": {
            "short_term": {"columns": {"kth": [table_column(name, name) for name in directions]}}
        },
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
            "ssim.range2": {"mean": -max(1.0, place)},
        }
        store.add(name, "kth", values)
    return built(store)


def test_models_are_sorted_and_compared_with_other_metrics(database: Path):
    _, rows = run_query(
        database,
        "SELECT model, rank, reason FROM leaderboard WHERE metric = 'predicted_quality' "
        "ORDER BY rank NULLS LAST",
    )
    assert rows == [("tau", 1, None), ("convlstm", 2, None), ("simvpv2", 3, None),
                    ("persistence", None, "far")]  # fmt: skip
    _, rows = run_query(
        database,
        "SELECT tested_on, convention, other, models, rank_correlation FROM quality_agreement "
        "ORDER BY other",
    )
    assert rows == [
        ("kth", METRIC, "fvd.predicted_only", 3, pytest.approx(1)),
        ("kth", METRIC, "lpips.alex", 3, pytest.approx(-1)),
        ("kth", METRIC, "ssim.range2", 3, pytest.approx(spearmanr([1, 2, 3], [1.5, 1.5, 3])[0])),
    ]
