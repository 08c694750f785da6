"""ChaosBench: two forecasts are compared on the starts that both have, and on no others.

Climatology is scored on twelve starts, of which six are hard. A centre has the easy ones alone: on
all starts of each it is never worse than climatology, and on the same ones it is after a week.
"""

import shutil
from pathlib import Path

import duckdb
import numpy as np
import pytest
from asking import ask, table_for
from s2s_store import LEADS, add, s2s_store, write_starts
from small_store import built

from stp.plan.checked_config import CONFIG_FOLDER
from stp.render.tables.findings import (
    OURS,
    Comparison,
    judge,
    pick,
    read_questions,
)

FOLDER = CONFIG_FOLDER / "suites" / "chaosbench" / "findings"
QUESTIONS = read_questions(FOLDER)
EASY, HARD = ([f"day{n:02}" for n in some] for some in (range(6), range(6, 12)))
GROWING = np.arange(1, LEADS + 1) / 8
"""Squared errors, 1 at lead time 8: as those of climatology on easy starts."""
SPECTRA = "spectral_divergence.high_wavenumbers"


def squares(*of_starts: float | np.ndarray) -> dict[str, np.ndarray]:
    return {"wrmse.pooled": np.stack([one * np.ones(LEADS) for one in of_starts])}


def divergences(*of_starts: float) -> dict[str, np.ndarray]:
    rows = [np.full(LEADS, one) for one in of_starts]
    return squares(*of_starts) | {SPECTRA: np.stack(rows)}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = s2s_store(tmp_path_factory.mktemp("common"))
    add(store, "daily_climatology", EASY + HARD, squares(*6 * [1.0], *6 * [16.0]))
    add(store, "persistence", EASY + HARD, squares(*12 * [2.0]))
    add(store, "ecmwf", EASY, squares(*6 * [GROWING]), reach=0.1)
    add(store, "my_model", [*EASY[:5], "elsewhere"], squares(*6 * [GROWING]), reach=0.1)
    add(store, "my_other_model", ["elsewhere"], squares(GROWING), reach=0.1)
    # A trained model loses more detail than a centre on all starts of each, and less on the same.
    add(store, "ukmo", EASY, divergences(0.5, 0.5, 0.1, 0.1, 0.1, 0.1))
    add(store, "panguweather", EASY[:2], divergences(0.25, 0.25))
    return built(store)


def ours(database: Path, number: int) -> list[Comparison]:
    (finding,) = judge(database, [pick(QUESTIONS, number)])
    return [row for row in finding.evidence if row.side == OURS and row.outcome is not None]


def test_horizons_are_of_the_starts_that_climatology_has_as_well(results: Path) -> None:
    found = ask(
        results,
        "SELECT forecast, first_lead, skilful_leads, earliest, latest, n, remark "
        "FROM s2s_skill_horizon WHERE side = 'ours' AND threshold LIKE 'RMSE%' "
        "AND forecast NOT IN ('ukmo', 'panguweather') ORDER BY forecast",
    )
    more = "intervals are of more starts than climatology has"
    none = "no scores of climatology on the same starts"
    never = f"skill does not end within {LEADS} lead times"
    assert found == [
        # Ends of the interval are 0.1 away from the root of GROWING.
        ("ecmwf", 8, 7, 7, 10, 6, None),
        ("my_model", 8, 7, None, None, 5, more),
        ("my_other_model", None, None, None, None, None, none),
        ("persistence", None, LEADS, None, None, 12, never),
    ]


def test_a_network_has_one_row_however_many_seeds_it_was_trained_with(tmp_path: Path) -> None:
    """Two trainings in each of two variants, of RMSE 1 and 3, and 2 and 4.

    Those on a part of the training data are no part of what the paper has.
    """
    store = s2s_store(tmp_path)
    add(store, "daily_climatology", EASY, squares(*6 * [1.0]))
    for variant, seed, square in (
        *(("default", 1, 1.0), ("default", 2, 9.0)),
        *(("steps5", 1, 4.0), ("steps5", 2, 16.0)),
    ):
        scores = divergences(*6 * [square])
        add(store, "unet", EASY, scores, reach=0.1, seed=seed, variant=variant)
        key = {"seed": seed, "variant": variant, "train_subset": "half"}
        add(store, "unet", EASY, divergences(*6 * [7 * square]), reach=0.1, **key)
    results = built(store)
    of = "WHERE forecast = 'unet' AND"
    why = "intervals are of single trainings: see by_lead"
    assert ask(
        results,
        f"SELECT value, ci95_low, n, reason FROM s2s_curves {of} curve = 'RMSE' AND lead = 7",
    ) == [(2.0, None, 6, why)]
    assert ask(
        results,
        f"SELECT value, other, n FROM s2s_in_common {of} curve = 'RMSE' AND lead = 7 "
        "AND against = 'daily_climatology' ORDER BY variant",
    ) == [(2.0, 1.0, 6), (3.0, 1.0, 6)]
    assert ask(
        results, f"SELECT first_lead, n FROM s2s_skill_horizon {of} threshold LIKE 'RMSE%'"
    ) == [(1, 6)]
    assert ask(results, f"SELECT value FROM s2s_day_44 {of} variant = 'steps5' ORDER BY score") == [
        (3.0,),
        (10.0,),
    ]
    assert ask(
        results,
        f"SELECT score, value, other, n FROM s2s_compared {of} variant = 'steps5' "
        "AND against = 'unet' AND side = 'ours' ORDER BY score",
    ) == [("RMSE", 3.0, 2.0, 6), ("SpecDiv", 10.0, 5.0, 6)]
    assert ask(
        results,
        f"SELECT variant, rmse, specdiv, is_on_front, n FROM s2s_fronts {of} lead = 44 "
        "ORDER BY variant",
    ) == [("default", 2.0, 5.0, True, 6), ("steps5", 3.0, 10.0, False, 6)]


def test_on_all_starts_of_each_the_answer_is_another_one(results: Path) -> None:
    (never,) = ask(
        results,
        "SELECT count(*) FROM by_lead a JOIN by_lead b USING (convention, lead) "
        "WHERE convention = 'wrmse.pooled' AND a.model = 'ecmwf' "
        "AND b.model = 'daily_climatology' AND a.value >= b.value",
    )
    assert never == (0,)
    (row,) = [row for row in ours(results, 1) if row.model == "ecmwf"]
    assert (row.metric, row.value, row.in_common, row.outcome) == ("t850 RMSE", 8, 6, True)


def test_values_at_day_44_are_of_the_starts_of_both(results: Path) -> None:
    own = dict(
        ask(
            results,
            f"SELECT model, value FROM by_lead WHERE convention = '{SPECTRA}' AND lead = 44",
        )
    )
    assert own["panguweather"] > own["ukmo"]
    (row,) = [row for row in ours(results, 4) if row.against == "ukmo"]
    found = (row.model, row.value, row.other, row.in_common, row.outcome)
    assert found == ("panguweather", 0.25, 0.5, 2, False)
    assert ask(
        results,
        "SELECT value, other, n, remark FROM s2s_compared WHERE side = 'ours' AND score = 'RMSE' "
        "AND forecast = 'my_other_model' AND against = 'ecmwf'",
    ) == [(None, None, None, "no scores of starts that both have")]


def test_detail_is_lost_in_the_mean_over_lead_times(results: Path, tmp_path: Path) -> None:
    """As Figure 6 has it: on day 44 alone, the network would seem to have more than the centre."""
    path = Path(shutil.copy(results, tmp_path / "results.duckdb"))
    with duckdb.connect(str(path)) as connection:
        write_starts(
            connection,
            "SELECT 's2s_control' AS dimension, forecast, 'easy' AS start, 'default' AS variant, "
            "'chaosbench' AS trained_on, 'chaosbench' AS tested_on, 'test' AS subset, "
            "'horizon-44' AS setting, 't850' AS variable, list(CASE WHEN forecast = 'ukmo' "
            "THEN 0.5 WHEN lead = 44 THEN 0.1 ELSE 1.0 END ORDER BY lead) AS divergence "
            "FROM (VALUES ('ukmo'), ('unet')) AS f(forecast), range(1, 45) AS d(lead) GROUP BY ALL",
        )
    (row,) = [row for row in ours(path, 4) if row.against == "ukmo"]
    found = (row.model, row.metric, row.other, row.in_common, row.outcome)
    assert found == ("unet", "t850 mean SpecDiv", 0.5, 1, True)
    assert row.value == pytest.approx(43.1 / 44)


@pytest.mark.parametrize(
    ("last", "value", "remark"),
    [("2.0", 1.5, None), ("'inf'::DOUBLE", None, "a SpecDiv is not finite"), ("NULL", 1.0, None)],
)
def test_detail_counts_each_seed_once(
    results: Path, tmp_path: Path, last: str, value: float | None, remark: str | None
) -> None:
    """Seed 2 has one of the three starts, and there a value, an infinite one, or none."""
    path = Path(shutil.copy(results, tmp_path / "results.duckdb"))
    scores = [("unet", 1, start, "1.0") for start in ("a", "b", "c")]
    scores += [("ukmo", "NULL", start, "0.5") for start in ("a", "b", "c")]
    values = ", ".join(
        f"('{forecast}', {seed}, '{start}', {score})"
        for forecast, seed, start, score in [*scores, ("unet", 2, "a", last)]
    )
    with duckdb.connect(str(path)) as connection:
        write_starts(
            connection,
            "SELECT 's2s_control' AS dimension, forecast, CAST(seed AS INTEGER) AS seed, start, "
            "'default' AS variant, 'chaosbench' AS trained_on, 'chaosbench' AS tested_on, "
            "'test' AS subset, 'horizon-44' AS setting, 't850' AS variable, "
            "[score, score] AS divergence "
            f"FROM (VALUES {values}) AS f(forecast, seed, start, score)",
        )
    (finding,) = judge(path, [pick(QUESTIONS, 4)])
    (row,) = [
        row
        for row in finding.evidence
        if (row.side, row.model, row.against) == (OURS, "unet", "ukmo")
        and row.metric.startswith("t850")
    ]
    assert (row.value, row.other, row.in_common) == (value, 0.5, 3 if last == "NULL" else 1)
    assert row.outcome == (None if value is None else True)
    assert row.remark == remark


def test_ensembles_are_compared_with_each_other_and_with_single_forecasts(
    results: Path, tmp_path: Path
) -> None:
    """ECMWF has three easy starts besides the hard one that both have."""
    path = Path(shutil.copy(results, tmp_path / "results.duckdb"))
    made = []
    for start in ("hard", "easy1", "easy2", "easy3"):
        ease = 4 if start == "hard" else 80
        made.append(("s2s_ensemble", "ecmwf", start, ease, 1.0))
        made.append(("s2s_control", "ukmo", start, None, 9.0 if start == "hard" else 1.0))
    made.append(("s2s_ensemble", "ukmo", "hard", 8, 4.0))
    made.append(("s2s_ensemble", "cma", "hard", 8, 4.0))
    with duckdb.connect(str(path)) as connection:
        values = ", ".join(
            f"('{dimension}', '{forecast}', '{start}', {ease or 'NULL'}, {square})"
            for dimension, forecast, start, ease, square in made
        )
        write_starts(
            connection,
            "SELECT dimension, forecast, start, 'default' AS variant, 'chaosbench' AS trained_on, "
            "'chaosbench' AS tested_on, 'test' AS subset, 'horizon-44' AS setting, "
            "'t850' AS variable, list(square) AS squares, list(CASE WHEN forecast <> 'cma' "
            "OR lead <= 10 THEN lead / ease END ORDER BY lead) AS crps, "
            "list(1.0) AS crps_of_climatology "
            f"FROM (VALUES {values}) AS v(dimension, forecast, start, ease, square), "
            "range(1, 45) AS d(lead) GROUP BY ALL",
        )
        connection.execute(table_for("s2s_curves", "WHERE side = 'published'"))
        connection.execute(
            "INSERT INTO s2s_curves SELECT * REPLACE ('ours' AS side) FROM s2s_curves"
        )
    assert ask(
        path,
        "SELECT value, other, n FROM s2s_in_common WHERE side = 'ours' AND weeks = '1' "
        "AND forecast = 'ecmwf' AND against = 'ukmo'",
    ) == [(0.0, 0.5, 1)]
    # CMA ends at day 10, so it has no score of week 2, which ECMWF has.
    assert ask(
        path,
        "SELECT weeks, value, other FROM s2s_in_common WHERE side = 'ours' AND forecast = 'cma' "
        "AND against = 'ukmo' AND weeks IS NOT NULL ORDER BY weeks",
    ) == [("1", 0.5, 0.5), ("2", None, -0.375)]
    (row,) = [row for row in ours(path, 2) if row.part[0] == "c" and row.against == "ukmo"]
    assert (row.value, row.other, row.outcome) == (4, 8, False)
    assert ask(
        path,
        "SELECT DISTINCT value, other, n FROM s2s_in_common WHERE side = 'ours' "
        "AND curve = 'RMSE' AND forecast = 'ukmo' AND against = 'ukmo'",
    ) == [(2.0, 3.0, 1)]
    ratios = [(row.part[0], row.value, row.in_common, row.outcome) for row in ours(path, 3)]
    assert ratios == [("a", 2 / 3, 1, True), ("b", 2 / 3, 1, False)]
