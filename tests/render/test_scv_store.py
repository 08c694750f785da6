"""The benchmark of video models: which metric ranks as success does, and whether one solves SCV."""

import shutil
from pathlib import Path

import duckdb
import pytest
from asking import ask
from scipy.stats import spearmanr
from small_store import SmallStore, built, convention_facts, suite, table_column

from stp.collect.direction import NO_DIRECTION
from stp.collect.success import rankings
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.manifest import load_manifest
from stp.render.tables.findings import OURS, PUBLISHED, judge, read_questions

QUESTIONS = read_questions(CONFIG_FOLDER / "suites" / "scv" / "findings")
GAMES = {"mutb": "move_unit", "cms": "collect_shards", "brawl": "brawl", "rtwm": "road_trip"}
MODELS = ("cdna", "sv2p", "svg", "savp")
FVD = "fvd.with_context"
VALUES = {  # dataset -> success and FVD of persistence and the four models
    "scv_mutb_64": [(1.0, 80.0), (0.1, 70.0), (0.5, 30.0), (0.5, 20.0), (0.7, 10.0)],
    "scv_cms_64": [(1.0, 10.0), (0.1, 20.0), (0.2, None), (0.3, 40.0), (0.4, 50.0)],
    "scv_brawl_64": [(0.0, 10.0), (0.0, 20.0), (0.0, 40.0), (0.0, 30.0), (0.0, 50.0)],
    "scv_rtwm_64": [(0.3, None), (0.1, None), (0.2, None), (0.1, 40.0), (0.4, 50.0)],
}
"""Elsewhere the four models have a success of 0.2 and no FVD."""
HOW = "scv_success", "scv_partial_success"
ABSENT = "weights of i3d are not there"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scv")
    store = SmallStore(folder)
    store.manifest |= {
        "suite": suite("scv"),
        "dimension": "scv_benchmark",
        "unavailable": {},
        "conventions": {FVD: convention_facts(False, compares_sets=True)},
        "tables": {"scv_benchmark": {"columns": {}}},
        "published": str(CONFIG_FOLDER / "suites" / "scv" / "published.csv"),
        "published_names": {"models": {}, "datasets": {}},
    }
    for game, rule in GAMES.items():
        for size in (64, 128):
            dataset, success = f"scv_{game}_{size}", f"scv_success.{rule}"
            graded = f"scv_partial_success.{rule}"
            store.manifest["conventions"] |= {
                success: convention_facts(True, success="strict"),
                graded: convention_facts(True, success="graded"),
            }
            store.manifest["tables"]["scv_benchmark"]["columns"][dataset] = [
                table_column("FVD", FVD)
            ]
            values = VALUES.get(dataset, [(1.0, None), *[(0.2, None)] * 4])
            for model, (kept, fvd) in zip(("persistence", *MODELS), values, strict=True):
                # As much of the rules as of the videos, the other way round.
                given = {success: {"mean": kept}, FVD: {"mean": fvd}, graded: {"mean": 1 - kept}}
                given[FVD] |= {"reason": ABSENT} if fvd is None else {}
                store.add(
                    model, dataset, given, suite="scv", dimension="scv_benchmark",
                    setting="horizon-14",
                )  # fmt: skip
    built(store)
    return folder


def test_rank_correlations_with_success_are_those_of_scipy(base: Path) -> None:
    """In the view of the store, and in the table."""
    mutb, cms = (
        spearmanr(*zip(*[(kept, -fvd) for kept, fvd in VALUES[name] if fvd], strict=True)).statistic
        for name in ("scv_mutb_64", "scv_cms_64")
    )
    few = f"2 models have both; ranks need 3; {ABSENT}"
    expected = {
        "scv_mutb_64": (5, pytest.approx(mutb), None),
        "scv_cms_64": (4, pytest.approx(cms), None),
        "scv_brawl_64": (5, None, "success is equal for all models"),
        "scv_rtwm_64": (2, None, few),
        "all": (9, pytest.approx((mutb + cms) / 2), None),
    }
    rows = ask(
        base / "results.duckdb",
        "SELECT split_part(success, '.', 1), tested_on, models, correlation, reason "
        "FROM success_correlations WHERE NOT ends_with(tested_on, '_128')",
    )
    both = {how: {name: tuple(rest) for kind, name, *rest in rows if kind == how} for how in HOW}
    assert both["scv_success"] == expected
    for name, (models, correlation, reason) in both["scv_partial_success"].items():
        opposite = None if expected[name][1] is None else -both["scv_success"][name][1]
        assert (models, reason) == expected[name][::2]
        assert correlation == (opposite if opposite is None else pytest.approx(opposite))
    every = rankings(load_manifest(base / "manifest.json"))
    ours = {(one.success.partition(".")[0], one.dataset): one for one in every}
    assert len(ours) == len(every) == 2 * 9
    for name in expected:
        strict, graded = (ours[how, name] for how in HOW)
        assert (strict.correlation is None) == (graded.correlation is None)
    found = {name: one for (how, name), one in ours.items() if how == "scv_success"}
    for name, (models, correlation, reason) in expected.items():
        one = found[name]
        assert (one.models, one.correlation) == (models, correlation)
        assert one.over_clips is one.over_models is None
        assert correlation is not None or one.why == reason
    needed = "an interval over clips needs 10", "5 models; an interval over models needs 10"
    assert all(one in found["scv_mutb_64"].why for one in needed)


def test_a_value_near_the_best_one_goes_with_success(base: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(base / "results.duckdb", tmp_path))
    wanted = (
        "SELECT correlation, reason FROM success_correlations "
        "WHERE tested_on = 'scv_mutb_64' AND success = 'scv_success.move_unit'"
    )
    change = "UPDATE conventions SET higher_is_better = NULL, best_at = {} WHERE convention = '{}'"
    both = [(kept, -abs(fvd - 30)) for kept, fvd in VALUES["scv_mutb_64"] if fvd]
    with duckdb.connect(str(path)) as connection:
        connection.execute(change.format(30, FVD))
        expected = pytest.approx(spearmanr(*zip(*both, strict=True)).statistic)
        assert connection.execute(wanted).fetchall() == [(expected, None)]
        connection.execute(change.format("NULL", FVD))
        assert connection.execute(wanted).fetchall() == [(None, NO_DIRECTION)]


ANOTHER_VARIANT = """
INSERT INTO cells SELECT * REPLACE (number + 1000 AS number, 'large' AS variant) FROM cells
WHERE model = 'savp';
INSERT INTO score_rows SELECT s.* REPLACE (cell + 1000 AS cell, NULL AS value, 'x' AS reason)
FROM score_rows s JOIN cells c ON c.number = s.cell WHERE model = 'savp' AND variant = 'default'
"""
"""It might have solved the scenario, but has no value."""


@pytest.mark.parametrize(
    ("edit", "verdict"),
    [
        ("SELECT 1", "holds"),
        ("UPDATE score_rows SET value = 0.5 WHERE value = 0.2", "does not hold"),
        ("UPDATE score_rows SET value = 0.9 WHERE value = 0.7", "does not hold"),
        ("UPDATE score_rows SET value = NULL, reason = 'x' WHERE value = 0.7", "not enough data"),
        (ANOTHER_VARIANT, "not enough data"),
    ],
)
def test_persistence_aside_no_model_solves_scv(
    base: Path, tmp_path: Path, edit: str, verdict: str
) -> None:
    path = Path(shutil.copy(base / "results.duckdb", tmp_path))
    with duckdb.connect(str(path)) as connection:
        connection.execute(edit)
    (finding,) = judge(path, QUESTIONS.values())
    assert finding.verdicts == {OURS: verdict, PUBLISHED: "not enough data"}
    assert "synthetic data, demo protocol" in finding.about[OURS]
    assert [part.comparisons for part in finding.parts[OURS]] == [8, 24]
    assert all(row.remark for row in finding.evidence if row.outcome is None)
