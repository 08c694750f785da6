"""What the report is made from: answers of the store in columns, and blocks of data in a page."""

import json
import re
from pathlib import Path

import duckdb
import numpy as np
import pytest
from asking import ask
from hostile import HOSTILE
from report_store import PUBLISHED_SSIM, SSIM

from stp.core.errors import StpError
from stp.render.tables import schema_page
from stp.report import example_queries, leaderboards, provenance
from stp.report.build import page, write_report
from stp.report.columns import Columnar, as_json, columnar, to_json_value


def rows(answer: Columnar) -> list[dict[str, object]]:
    """Read an answer as the page does."""
    columns = {
        name: column
        if isinstance(column, list)
        else [None if code < 0 else column.words[code] for code in column.codes]
        for name, column in answer.columns.items()
    }
    return [{name: column[i] for name, column in columns.items()} for i in range(answer.count)]


def test_an_answer_comes_back_as_it_was() -> None:
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t (word VARCHAR, n BIGINT, value DOUBLE, list BIGINT[])")
        given = [
            ("b", 1, 0.5, [1]),
            ("", None, None, None),
            (None, 3, 2.0, []),
            ("b", 4, -1.0, [2]),
        ]
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", given)
        answer = columnar(database, "FROM t ORDER BY rowid")
    assert [tuple(row.values()) for row in rows(answer)] == given
    assert json.loads(as_json(answer))["columns"]["word"] == {
        "words": ["b", ""],
        "codes": [0, 1, -1, 0],
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 / 3, 0.3333333),
        (123456789.0, 123456800.0),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (float("nan"), "NaN"),
        (True, True),
        ([1 / 3, None], [0.3333333, None]),
    ],
)
def test_numbers_are_rounded_and_those_that_json_lacks_are_words(
    value: object, expected: object
) -> None:
    assert to_json_value(value) == expected
    assert json.loads(json.dumps(to_json_value(value), allow_nan=False)) == expected


def test_a_store_of_another_version_is_one_error() -> None:
    with duckdb.connect() as database, pytest.raises(StpError, match="ranks"):
        columnar(database, "FROM ranks")


def test_the_board_has_what_the_store_says(database: Path) -> None:
    with duckdb.connect(str(database), read_only=True) as store:
        told = leaderboards.data(store, database.parent)
    parts = [row["convention"] for row in rows(told["parts"])]
    found = {
        row["model"]: row for row in rows(told["board"]) if parts[row["part"]] == "ssim.range2"
    }
    means = {model: float(np.mean(runs)) for model, runs in SSIM.items()}
    for model, mean in means.items():
        assert found[model]["value"] == pytest.approx(mean, rel=1e-6)
    assert [found[model]["rank"] for model in sorted(means, key=means.__getitem__)] == [3, 2, 1]
    winner = found["convlstm"]
    assert winner["difference"] == pytest.approx(means["convlstm"] - PUBLISHED_SSIM, rel=1e-6)
    assert winner["ci95_low"] is None, "two seeds have an interval each"
    assert winner["seed_sd"] == pytest.approx(
        np.std([run.mean() for run in SSIM["convlstm"]], ddof=1), rel=1e-6
    )
    assert found["persistence"]["worse"] is True and found["simvpv2"]["worse"] is True
    pairs = ask(
        database,
        "SELECT model, other, p_corrected, p_sign FROM comparisons "
        "WHERE convention = 'ssim.range2' AND 'convlstm' IN (model, other)",
    )
    for one, other, p, p_sign in pairs:
        loser = other if one == "convlstm" else one
        assert found[loser]["p"] == pytest.approx(p, rel=1e-6)
        assert found[loser]["p_sign"] == pytest.approx(p_sign, rel=1e-6)


def test_a_cell_leads_to_its_artefacts_and_their_raw_files(database: Path) -> None:
    with duckdb.connect(str(database), read_only=True) as store:
        told = provenance.data(store, database.parent)
        cells = store.execute("SELECT model FROM cells ORDER BY rowid").fetchall()
    artefacts = rows(told["artefacts"])
    paths = [row["path"] for row in artefacts]
    assert len(set(paths)) == len(paths), "each stands there once"
    for (model,), behind in zip(cells, told["behind"], strict=True):
        stages = [artefacts[number]["stage"] for number in behind]
        trained = [] if model == "persistence" else ["model"]
        assert stages == ["prepare", *trained, "predictions", "score"]
    values = {row["value"] for row in rows(told["values"])}
    assert {float(run.mean()) for runs in SSIM.values() for run in runs} <= values


def test_questions_are_those_of_the_documentation(database: Path) -> None:
    text = schema_page.page()
    with duckdb.connect(str(database), read_only=True) as store:
        answered = example_queries.data(store, database.parent)
    assert len(answered) == 10
    for one in answered:
        assert f"**{one['question']}**" in text and one["sql"] in text
        assert one["question"].count("?") == 1 and one["sql"].endswith(";")
        assert not set("`[]") & set(one["more"])


def test_data_cannot_end_their_own_element() -> None:
    text = page({"core": {"title": HOSTILE, "word": "<!--<script>"}})
    (block,) = re.findall(
        r'<script type="application/json" id="data-core">(.*?)</script>', text, re.S
    )
    assert json.loads(block) == {"title": HOSTILE, "word": "<!--<script>"}
    assert "<!--" not in block


def test_the_same_store_gives_the_same_bytes_and_nothing_is_loaded_from_elsewhere(
    database: Path, tmp_path: Path
) -> None:
    pages = [tmp_path / name / "index.html" for name in ("one", "other")]
    for out in pages:
        write_report(database, out)
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["index.html"]
    text = pages[0].read_text()
    tags = re.findall(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=[\"']?([^\"'\s>]+)", text)
    assert [tag for tag in tags if re.match(r"https?:|//", tag)] == []


@pytest.mark.parametrize("content", [None, b"not a database at all" * 99], ids=["none", "bad"])
def test_no_store_or_a_damaged_one_is_one_error_and_leaves_the_page(
    content: bytes | None, tmp_path: Path
) -> None:
    database, out = tmp_path / "results.duckdb", tmp_path / "report" / "index.html"
    out.parent.mkdir()
    out.write_text("the last good one")
    if content is not None:
        database.write_bytes(content)
    with pytest.raises(StpError) as error:
        write_report(database, out)
    assert str(database) in error.value.what and error.value.remedy
    assert out.read_text() == "the last good one"
    assert [path.name for path in out.parent.iterdir()] == ["index.html"]
