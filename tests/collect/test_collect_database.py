"""The database: its tables, its comments, and that it is replaced in one step."""

import datetime
import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asking import ask
from small_store import PUBLISHED, SmallStore, built, convention_facts, suite

from stp.collect import schema
from stp.collect.artefact_views import KEPT_ROWS
from stp.collect.sample_files import read_arrow_schema
from stp.collect.settings import key_columns, values_of
from stp.collect.views import VIEWS
from stp.core.errors import StpError


def three_cells(folder: Path, published: Path | None = None) -> SmallStore:
    store = SmallStore(folder, published)
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})
    store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0)
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.6, "leads": [0.5, 0.7]}}, seed=0)
    return store


@pytest.fixture
def store(tmp_path: Path) -> SmallStore:
    return three_cells(tmp_path)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database of these cells; not to be changed."""
    return built(three_cells(tmp_path_factory.mktemp("database"), PUBLISHED))


def test_every_table_view_and_column_has_a_comment(database: Path) -> None:
    tables = ask(
        database,
        "SELECT table_name, comment FROM duckdb_tables() UNION ALL "
        "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY 1",
    )
    names = [one.name for one in (*schema.TABLES, *VIEWS)]
    own = suite("predbench")["views"]
    every = sorted([*names, *own, "sample_scores", *(one.view.name for one in KEPT_ROWS)])
    assert [name for name, _ in tables] == every
    assert all(comment for _, comment in tables)
    bare = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal"
    assert ask(database, f"{bare} AND coalesce(comment, '') = ''") == []
    assert len(ask(database, bare)) > 80


def test_scores_join_their_receipts(database: Path) -> None:
    found = ask(
        database,
        "SELECT s.value, a.stage, a.host, a.packages->>'$.torch', a.started, a.seconds, a.files "
        "FROM scores s JOIN artefacts a ON a.fingerprint = s.scores_fingerprint "
        "WHERE s.tested_on = 'enso' AND s.lead IS NULL",
    )
    # Two files: scores.parquet and sample_scores.parquet; the receipt does not list itself.
    epoch = datetime.datetime(1970, 1, 1)
    assert found == [(0.6, "score", "node1", "2.13.0", epoch, 90.0, 2)]


@pytest.mark.long(part="kinds")
def test_shared_receipts_appear_once_and_models_only_where_trained(database: Path) -> None:
    # 3 cells on 2 datasets: data twice, predictions and scores three times, two trained models.
    assert ask(database, "SELECT stage, count(*) FROM artefacts GROUP BY ALL ORDER BY ALL") == [
        ("model", 2),
        ("predictions", 3),
        ("prepare", 2),
        ("score", 3),
    ]
    assert ask(database, "SELECT model, model_fingerprints, seed FROM cells") == [
        ("persistence", [], None),
        ("convlstm", ["e000000000000001"], 0),
        ("convlstm", ["e000000000000002"], 0),
    ]


def test_published_values_carry_our_names(database: Path) -> None:
    assert ask(database, "SELECT count(*) FROM published") == [(1748,)]
    # PredBench, short-term table: ConvLSTM on Moving-MNIST has SSIM 0.9290.
    assert ask(
        database,
        "SELECT value, raw, printed_model, printed_tested_on FROM published "
        "WHERE suite = 'predbench' AND dimension = 'short_term' AND model = 'convlstm' "
        "AND tested_on = 'moving_mnist' AND metric = 'SSIM'",
    ) == [(0.929, "0.9290", "ConvLSTM", "MovingMNIST")]
    # PredRNN++ is in the file, but this plan has no name for it.
    theirs = "SELECT DISTINCT model FROM published WHERE printed_model = 'PredRNN++'"
    assert ask(database, theirs) == [(None,)]
    # Keys of settings are columns; the city that the paper calls a dataset is a part of it.
    assert ask(
        database,
        "SELECT subset, \"interval\", count(*) FROM published WHERE printed_model = 'TAU' "
        "AND dimension IN ('generalization', 'robustness') AND metric = 'RMSE' OR "
        "printed_model = 'TAU' AND metric = 'WRMSE' AND variable = 't2m' GROUP BY ALL ORDER BY ALL",
    ) == [("moscow", None, 1), ("robustness", 2, 1), ("robustness", 3, 1), ("test", None, 1)]


def test_settings_have_a_column_for_each_key(store: SmallStore) -> None:
    for setting in ("horizon-10+update-30000", "horizon-20+interval-2"):
        store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.5}}, setting=setting)
    store.manifest["published"] = str(PUBLISHED)
    database = built(store)
    assert ask(
        database, 'SELECT setting, horizon, "interval", observe, update FROM settings ORDER BY 1'
    ) == [
        ("horizon-10", 10, None, None, None),
        ("horizon-10+update-30000", 10, None, None, 30000),
        ("horizon-20+interval-2", 20, 2, None, None),
    ]
    # What the paper prints is of the dataset's own horizon, and of no update.
    assert ask(database, "SELECT DISTINCT setting FROM deltas") == [("horizon-10",)]


def test_a_key_that_has_a_name_anywhere_is_text() -> None:
    assert values_of("codec-h_264+horizon-20") == {"codec": "h_264", "horizon": 20}
    found = [values_of(name) for name in ("codec-h_264+level-3", "codec-5+horizon-2")]
    assert [(name, kind) for name, kind, _ in key_columns(found)][-3:] == [
        ("training", "BIGINT"),
        ("codec", "VARCHAR"),
        ("level", "BIGINT"),
    ]


def test_suites_and_dimensions_are_those_of_the_configuration(database: Path) -> None:
    assert ask(database, "FROM suites") == [("predbench", "PredBench")]
    assert ask(
        database, "SELECT dimension, title, by_lead, changes_from FROM dimensions ORDER BY place"
    ) == [
        ("short_term", "Short-term prediction", False, None),
        ("long_term", "Long-term prediction by extrapolation", True, None),
        ("generalization", "Generalization", False, "short_term"),
        ("robustness", "Robustness to the frame interval", False, "robustness"),
    ]


def test_conventions_explain_the_scores(store: SmallStore) -> None:
    store.manifest["conventions"]["frequency_bias.mean"] = convention_facts(best_at=1.0)
    question = "SELECT convention, title, higher_is_better, best_at FROM conventions"
    found = {row[0]: row[1:] for row in ask(built(store), question)}
    assert found["ssim.range2"] == ("Structural similarity", True, None)
    assert found["frequency_bias.mean"] == ("", None, 1.0)


@pytest.mark.long(part="kinds")
def test_sample_scores_work_from_another_folder(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = ask(
        database,
        'SELECT model, tested_on, clip, "ssim.range2", "rmse.per_frame"[2] FROM sample_scores '
        "WHERE sample = 1 ORDER BY ALL",
    )
    # The helper writes [0.5, 0.25 * sample] for each convention of a cell.
    assert found == [
        ("convlstm", "enso", "clip1", None, 0.25),
        ("convlstm", "moving_mnist", "clip1", [0.5, 0.25], None),
        ("persistence", "moving_mnist", "clip1", [0.5, 0.25], None),
    ]


@pytest.mark.long(part="kinds")
def test_sample_scores_of_another_writer_stand_beside_the_others(store: SmallStore) -> None:
    """One that does not say what the schema was: it is looked at, and found to be the same."""
    every = "FROM sample_scores ORDER BY ALL"
    found = ask(built(store), every)
    path = Path(store.cells[1]["scores"]) / "sample_scores.parquet"
    pq.write_table(pq.read_table(path), path, store_schema=False)
    assert ask(built(store), every) == found
    (view,) = ask(built(store), "SELECT sql FROM duckdb_views() WHERE view_name = 'sample_scores'")
    assert view[0].count("read_parquet") == 2, "a list of files for each of the two schemas"


@pytest.mark.long(part="kinds")
def test_the_stated_schema_is_what_arrow_reads(store: SmallStore) -> None:
    path = Path(store.cells[1]["scores"]) / "sample_scores.parquet"
    stated = pq.read_metadata(path).metadata[b"ARROW:schema"]
    assert read_arrow_schema(path) == stated
    pq.write_table(pq.read_table(path), path, store_schema=False)
    assert read_arrow_schema(path) is None
    path.write_bytes(b"PAR1")
    assert read_arrow_schema(path) is None


def test_score_rows_name_cells_and_kinds_by_number(database: Path) -> None:
    joined = "SELECT c.number, count(*) FROM cells c JOIN score_rows s ON s.cell = c.number"
    counted = ask(database, f"{joined} GROUP BY ALL ORDER BY ALL")
    assert counted == [(1, 2), (2, 2), (3, 3)]
    assert ask(database, "SELECT count(*) FROM scores") == [(7,)]
    joined = "SELECT k.number, k.convention, k.lead, count(*) FROM score_kinds k "
    counted = ask(
        database, f"{joined} JOIN score_rows s ON s.kind = k.number GROUP BY ALL ORDER BY 1"
    )
    assert [number for number, *_ in counted] == [1, 2, 3, 4, 5]
    assert ("ssim.range2", None, 2) in [row[1:] for row in counted], "a row of either cell"


@pytest.mark.long(part="kinds")
def test_same_inputs_give_the_same_rows(store: SmallStore) -> None:
    store.manifest["published"] = str(PUBLISHED)
    first, second = built(store, "first.duckdb"), built(store, "second.duckdb")
    for table in ("scores", "cells", "artefacts", "published", "conventions", "sample_scores"):
        rows = ask(first, f"FROM {table}")
        assert rows
        assert ask(second, f"FROM {table}") == rows


def test_rebuilding_replaces_a_database_that_somebody_reads(store: SmallStore) -> None:
    database = built(store)
    with duckdb.connect(str(database), read_only=True) as reader:
        store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.7}}, seed=1)
        built(store)
        assert reader.execute("SELECT count(*) FROM cells").fetchall() == [(3,)]
    assert ask(database, "SELECT count(*) FROM cells") == [(4,)]


def test_damaged_sample_scores_are_named_and_nothing_is_left(store: SmallStore) -> None:
    path = Path(store.cells[1]["scores"]) / "sample_scores.parquet"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(StpError, match=r"sample_scores\.parquet") as caught:
        built(store)
    assert str(path) in caught.value.what
    names = {entry.name for entry in store.folder.iterdir()}
    assert names == {"store", "manifest.json", "short_term.parquet"}


@pytest.mark.long(part="kinds")
def test_sample_scores_of_another_type_are_refused(store: SmallStore) -> None:
    path = Path(store.cells[1]["scores"]) / "sample_scores.parquet"
    rows = pq.read_table(path)
    column = rows.schema.get_field_index("ssim.range2")
    rows = rows.set_column(column, "ssim.range2", pa.array([1.0, 2.0])).drop_columns("clip")
    pq.write_table(rows, path)
    with pytest.raises(StpError, match=r"clip.*ssim\.range2.*double"):
        built(store)
    assert not list(store.folder.glob("*.duckdb*"))


def test_missing_receipt_of_a_model_is_named(store: SmallStore) -> None:
    receipt = Path(store.cells[1]["models"][0]) / "artefact.json"
    receipt.unlink()
    with pytest.raises(StpError, match=r"e000000000000001/artefact\.json"):
        built(store)
    # The half-built database and its write-ahead log are gone.
    names = {entry.name for entry in store.folder.iterdir()}
    assert names == {"store", "manifest.json", "short_term.parquet"}


@pytest.mark.long(part="kinds")
def test_damaged_receipt_is_named(store: SmallStore) -> None:
    (Path(store.cells[1]["models"][0]) / "artefact.json").write_text(json.dumps(["no mapping"]))
    with pytest.raises(StpError, match=r"artefact\.json.*TypeError"):
        built(store)


def test_published_file_with_other_columns_is_refused(store: SmallStore) -> None:
    other = store.folder / "other.csv"
    other.write_text("model,value\nx,1\n")
    store.manifest["published"] = str(other)
    with pytest.raises(StpError, match="columns model, value"):
        built(store)


@pytest.mark.long(part="kinds")
def test_a_published_value_that_is_no_number_is_named(store: SmallStore) -> None:
    text = PUBLISHED.read_text().splitlines(keepends=True)
    other = store.folder / "other.csv"
    other.write_text("".join([*text[:3], text[3].replace("0.0734,", "many,", 1)]))
    store.manifest["published"] = str(other)
    with pytest.raises(StpError, match=r"other\.csv, line 4.*many"):
        built(store)


def test_a_view_of_a_suite_that_does_not_say_what_it_is(store: SmallStore) -> None:
    store.manifest["suite"]["views"] = {"mine": "SELECT 1 AS one"}
    with pytest.raises(StpError, match=r"mine.*predbench"):
        built(store)
    store.manifest["suite"]["views"] = {
        "mine": "-- comment: One row.\n-- columns: {one: The number one.}\nSELECT 1 AS one;\n"
    }
    assert ask(built(store), "FROM mine") == [(1,)]
