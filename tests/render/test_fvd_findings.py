"""The findings of the study of FVD: by the printed numbers, by edited ones, and their two views."""

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from asking import ask, table_for
from scipy.stats import kendalltau, pearsonr, spearmanr
from small_store import SmallStore, built, convention_facts, suite, table_column

from stp.collect.direction import NO_DIRECTION
from stp.plan.checked_config import CONFIG_FOLDER
from stp.render.tables.findings import OURS, PUBLISHED, Finding, judge, pick, read_questions
from stp.report import core
from stp.report.columns import Columnar
from stp.report.core import TRUST

QUESTIONS = read_questions(CONFIG_FOLDER / "suites" / "fvd_study" / "findings")
FVD = [30.0, 10.0, 30.0, 50.0]
PSNR = [30.0, 20.0, 20.0, 10.0]
ABSENT = "weights of i3d are not there"
UNKNOWN = "not enough data"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four intensities of one distortion, and three of another without weights."""
    store = SmallStore(tmp_path_factory.mktemp("base"))
    conventions = {
        "fvd.predicted_only": convention_facts(False),
        "average_fid.squeezenet_means": convention_facts(False),
        "psnr.pooled": convention_facts(True),
    }
    columns = {"bair": [table_column(name, name) for name in conventions]}
    store.manifest |= {
        "suite": suite("fvd_study"),
        "dimension": "video_distortions",
        "conventions": conventions,
        "tables": {"video_distortions": {"columns": columns}},
        "published": str(CONFIG_FOLDER / "suites" / "fvd_study" / "published.csv"),
        "published_names": {"models": {}, "datasets": {"bair": "BAIR"}},
    }
    key = {"suite": "fvd_study", "dimension": "video_distortions"}
    for number, (fvd, psnr) in enumerate(zip(FVD, PSNR, strict=True), 1):
        given = {
            "fvd.predicted_only": {"mean": fvd},
            "average_fid.squeezenet_means": {"mean": 2.0},
            "psnr.pooled": {"mean": psnr},
        }
        store.add("local_swap", "bair", given, setting=f"horizon-16+intensity-{number}", **key)
    for number in range(1, 4):
        given = {
            "fvd.predicted_only": {"mean": None, "reason": ABSENT},
            "average_fid.squeezenet_means": {"mean": 2.0 * number},
            "psnr.pooled": {"mean": 9.0 * number},
        }
        store.add("gaussian_noise", "bair", given, setting=f"horizon-16+intensity-{number}", **key)
    return built(store)


def judged(path: Path, number: int) -> Finding:
    (finding,) = judge(path, [pick(QUESTIONS, number)])
    return finding


def test_correlations_with_the_intensity_are_those_of_scipy(base: Path) -> None:
    rows = ask(
        base,
        "SELECT distortion, convention, is_temporal, intensities, correlation, is_constant, reason "
        "FROM noise_correlations ORDER BY ALL",
    )
    of_fvd = pytest.approx(spearmanr([1, 2, 3, 4], FVD).statistic)
    of_psnr = pytest.approx(-spearmanr([1, 2, 3, 4], PSNR).statistic)
    same = "the same at all intensities"
    assert rows == [
        ("gaussian_noise", "average_fid.squeezenet_means", False, 3, 1.0, False, None),
        ("gaussian_noise", "fvd.predicted_only", False, 3, None, False, ABSENT),
        ("gaussian_noise", "psnr.pooled", False, 3, -1.0, False, None),
        ("local_swap", "average_fid.squeezenet_means", True, 4, None, True, same),
        ("local_swap", "fvd.predicted_only", True, 4, of_fvd, False, None),
        ("local_swap", "psnr.pooled", True, 4, of_psnr, False, None),
    ]


def test_what_is_best_at_a_value_gets_worse_away_from_it(base: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(base, tmp_path))
    wanted = (
        "SELECT correlation, reason FROM noise_correlations "
        "WHERE convention = 'psnr.pooled' AND distortion = 'local_swap'"
    )
    with duckdb.connect(str(path)) as connection:
        change = "UPDATE conventions SET higher_is_better = NULL, best_at = {} WHERE convention = "
        connection.execute(f"{change.format(15)} 'psnr.pooled'")
        away = [abs(value - 15) for value in PSNR]
        of_it = pytest.approx(spearmanr([1, 2, 3, 4], away).statistic)
        assert connection.execute(wanted).fetchall() == [(of_it, None)]
        connection.execute(f"{change.format('NULL')} 'psnr.pooled'")
        assert connection.execute(wanted).fetchall() == [(None, NO_DIRECTION)]


def test_marks_beside_a_leaderboard_say_what_a_metric_sees(base: Path) -> None:
    assert [row[:-1] for row in ask(base, TRUST)] == [
        ("average_fid.squeezenet_means", "bair", 2, 2, 1, "local_swap"),
        ("fvd.predicted_only", "bair", 2, 1, 1, None),
        ("psnr.pooled", "bair", 2, 2, 1, None),
    ]
    with duckdb.connect(str(base), read_only=True) as connection:
        trust = core.data(connection, base.parent)["trust"]
    assert isinstance(trust, Columnar) and trust.count == 3


def test_correlations_of_metrics_are_those_of_scipy(base: Path) -> None:
    rows = ask(
        base,
        "SELECT tested_on, kind, value, cells FROM metric_correlations "
        "WHERE side = 'ours' AND one = 'FVD' AND other = 'PSNR' ORDER BY ALL",
    )
    kendall = pytest.approx(kendalltau(FVD, PSNR).statistic)
    pearson = pytest.approx(pearsonr(FVD, PSNR).statistic)
    assert rows == [
        ("all", "kendall", kendall, 4),
        ("all", "pearson", pearson, 4),
        ("bair", "kendall", kendall, 4),
        ("bair", "pearson", pearson, 4),
    ]


def test_a_metric_that_varies_only_where_the_other_is_not_there_has_no_correlation(
    base: Path, tmp_path: Path
) -> None:
    path = Path(shutil.copy(base, tmp_path))
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "UPDATE score_rows SET value = 20 WHERE (cell, kind) IN (SELECT (c.number, k.number) "
            "FROM cells c, score_kinds k WHERE c.model = 'local_swap' "
            "AND k.convention = 'psnr.pooled')"
        )
        rows = connection.execute(
            "SELECT DISTINCT value, reason FROM metric_correlations "
            "WHERE side = 'ours' AND one = 'FVD' AND other = 'PSNR'"
        ).fetchall()
    assert rows == [(None, "one of them is the same everywhere")]


@pytest.mark.parametrize(
    ("number", "verdict", "counts"),
    [
        (1, UNKNOWN, [(0, 0)]),
        (2, UNKNOWN, [(0, 0), (0, 0), (0, 0)]),
        (3, "does not hold", [(4, 0), (3, 0), (3, 0), (5, 2)]),
        (4, UNKNOWN, [(0, 0), (0, 0)]),
        (5, "holds", [(2, 0), (2, 0), (2, 0)]),
    ],
)
def test_what_the_printed_numbers_say(
    base: Path, number: int, verdict: str, counts: list[tuple[int, int]]
) -> None:
    finding = judged(base, number)
    # FVD does not follow the one distortion that has weights here, and follows PSNR.
    ours = "does not hold" if number in (2, 5) else UNKNOWN
    assert finding.verdicts == {OURS: ours, PUBLISHED: verdict}
    assert [(part.yes, part.no) for part in finding.parts[PUBLISHED]] == counts
    assert all(row.remark for row in finding.evidence if row.outcome is None)


DATASETS = "(VALUES ('bair'), ('hmdb51'), ('kinetics400')) AS d(tested_on)"
DISTORTIONS = (
    "(VALUES ('black_rectangle', false), ('gaussian_blur', false), ('gaussian_noise', false), "
    "('salt_and_pepper', false), ('local_swap', true), ('global_swap', true), "
    "('interleaving', true), ('switching', true)) AS n(distortion, is_temporal)"
)
VARIANTS = (
    "(VALUES ('fvd.predicted_only', 0.95), ('kvd.predicted_only', 0.9), ('fvd.random_logits', 1), "
    "('kvd.pooled', 0.5), ('average_fid.squeezenet_means', 0.5), ('psnr.pooled', 1)) "
    "AS v(convention, size)"
)


@pytest.fixture(scope="module")
def ours(base: Path) -> Path:
    """A store whose correlations are as the findings want them."""
    path = Path(shutil.copy(base, base.with_name("ours.duckdb")))
    with duckdb.connect(str(path)) as connection:
        for statement in (
            table_for("noise_correlations", "LIMIT 0"),
            "INSERT INTO noise_correlations BY NAME SELECT * EXCLUDE (size), 'test' AS subset, "
            "5 AS intensities, CASE distortion WHEN 'switching' THEN -size ELSE size END "
            "AS correlation, false AS is_constant, 'synthetic data, demo protocol' AS bytes, "
            f"false AS comparable FROM {DATASETS}, {DISTORTIONS}, {VARIANTS}",
            table_for("metric_correlations", "WHERE side = 'published'"),
            "INSERT INTO metric_correlations SELECT * REPLACE ('ours' AS side) "
            "FROM metric_correlations",
        ):
            connection.execute(statement)
    return path


@pytest.fixture
def edited(ours: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of that store, with statements executed in it."""

    def make(*statements: str) -> Path:
        path = Path(shutil.copy(ours, tmp_path / "results.duckdb"))
        with duckdb.connect(str(path)) as connection:
            for statement in statements:
                connection.execute(statement)
        return path

    return make


NOISE = "UPDATE noise_correlations SET correlation ="
FOLLOWS = "convention = 'fvd.predicted_only' AND tested_on = 'hmdb51'"
PAIR = "UPDATE metric_correlations SET value ="


@pytest.mark.parametrize(
    ("number", "edit", "verdict"),
    [
        (1, f"{NOISE} 0.8 WHERE {FOLLOWS}", "holds"),  # second of four: 0.6 against 0.9
        (1, f"{NOISE} 0.1 WHERE convention = 'fvd.predicted_only'", "does not hold"),
        (2, f"{NOISE} 0.8 WHERE {FOLLOWS} AND distortion = 'gaussian_blur'", "does not hold"),
        (2, f"{NOISE} 0.95 WHERE {FOLLOWS} AND distortion = 'switching'", "does not hold"),
        (5, f"{PAIR} -0.5 WHERE side = 'ours' AND one = 'FVD'", "does not hold"),
        (5, f"{PAIR} NULL WHERE side = 'ours' AND one = 'FVD'", "not enough data"),
    ],
)  # fmt: skip
def test_ours_are_judged_alike(
    ours: Path, edited: Callable[..., Path], number: int, edit: str, verdict: str
) -> None:
    before = judged(ours, number)
    assert before.verdicts[OURS] == "holds"
    if number != 5:
        assert "synthetic" in before.about[OURS]
    assert judged(edited(edit), number).verdicts[OURS] == verdict


def test_a_figure_that_was_read_decides_the_fourth(edited: Callable[..., Path]) -> None:
    read = (
        "INSERT INTO published BY NAME SELECT 'fvd_study' AS suite, 'resolution' AS dimension, "
        "base AS printed_model, '+' || gap AS run, CASE WHEN gap < 50 THEN 52 ELSE 80 END AS value "
        "FROM (VALUES ('base200'), ('base400')) AS b(base), "
        "(VALUES (10), (20), (100), (200), (300), (400), (500)) AS g(gap)"
    )
    assert judged(edited(read), 4).verdicts[PUBLISHED] == "holds"
    unseen = "UPDATE published SET value = 55 WHERE dimension = 'resolution' AND run = '+300'"
    assert judged(edited(read, unseen), 4).verdicts[PUBLISHED] == "does not hold"


def asked_people(simulated: bool = False) -> tuple[str, str]:
    """Statements: raters said what the paper prints, and see differences above 50."""
    common = (
        "INSERT INTO agreement_with_people BY NAME SELECT 'synthetic' AS source, "
        "'demo' AS protocol, false AS comparable, 'a' AS study, 9 AS answers, "
        f"{simulated} AS simulated, 'fvd.predicted_only' AS convention, "
    )
    return (
        common + "run AS scenario, 'spread' AS kind, printed_model AS metric, "
        "'decided' AS counting, value FROM published "
        "WHERE suite = 'fvd_study' AND dimension = 'agreement'",
        common + "base || ' +' || gap AS scenario, 'gap' AS kind, 'FVD' AS metric, "
        "'all' AS counting, CASE WHEN gap < 50 THEN 52 ELSE 80 END AS value "
        "FROM (VALUES ('base200'), ('base400')) AS b(base), "
        "(VALUES (10), (20), (100), (200), (300), (400), (500)) AS g(gap)",
    )


def test_what_raters_say_is_judged_as_what_is_printed(edited: Callable[..., Path]) -> None:
    path = edited(*asked_people())
    finding = judged(path, 3)
    assert finding.verdicts == {OURS: "does not hold", PUBLISHED: "does not hold"}
    counts = [(part.yes, part.no) for part in finding.parts[OURS]]
    assert counts == [(4, 0), (3, 0), (3, 0), (5, 2)]
    assert "synthetic data, demo protocol" in finding.about[OURS]
    assert judged(path, 4).verdicts[OURS] == "holds"
    more = "UPDATE agreement_with_people SET value = 95 WHERE metric = 'FVD'"
    assert judged(edited(*asked_people(), more), 3).verdicts[OURS] == "holds"
    assert judged(edited(*asked_people(), more), 4).verdicts[OURS] == "does not hold"
    less = "DELETE FROM agreement_with_people WHERE metric = 'KVD' AND scenario = 'spr. SSIM'"
    assert judged(edited(*asked_people(), more, less), 3).verdicts[OURS] == UNKNOWN


def test_simulated_raters_are_shown_and_not_judged(edited: Callable[..., Path]) -> None:
    path = edited(*asked_people(simulated=True))
    for number in (3, 4):
        finding = judged(path, number)
        assert finding.verdicts[OURS] == UNKNOWN
        ours = [row for row in finding.evidence if row.side == OURS]
        assert {row.remark for row in ours} == {"raters are simulated"}
        assert all(row.value is not None for row in ours)
