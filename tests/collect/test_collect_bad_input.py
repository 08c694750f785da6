"""Bad input is named with its file and row, and the last good store stays as it is."""

import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_store import SmallStore, convention_facts, score_rows, write_receipt

from stp.collect.refresh import build_database, collect_dimension
from stp.core.errors import StpError

Change = Callable[[pa.Table], pa.Table]
VALUES = {"rmse.per_frame": {"mean": 0.6, "leads": [0.5, 0.7]}}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> SmallStore:
    """Two scored cells, and the database of them."""
    store = SmallStore(tmp_path_factory.mktemp("good"))
    store.add("convlstm", "enso", VALUES, seed=0)
    store.add("convlstm", "enso", VALUES, seed=1)
    make(store)
    return store


@pytest.fixture
def store(good: SmallStore, tmp_path: Path) -> Iterator[SmallStore]:
    """The good store; what a test does to it is undone."""
    manifest = deepcopy(good.manifest)
    shutil.copytree(good.folder, tmp_path / "kept")
    yield good
    shutil.rmtree(good.folder)
    (tmp_path / "kept").rename(good.folder)
    good.manifest, good.cells = manifest, manifest["cells"]


def rows_of(store: SmallStore) -> Path:
    return store.folder / "results" / "collected" / "short_term.parquet"


def make(store: SmallStore) -> Path:
    """Collect, and build the database."""
    collect_dimension(store.write(), rows_of(store))
    return build(store)


def build(store: SmallStore) -> Path:
    """Build the database from what is collected."""
    database = store.folder / "results" / "results.duckdb"
    build_database(rows_of(store).parent, database)
    return database


def refused(store: SmallStore, spoil: Callable[[], None], again: Callable[..., Path]) -> StpError:
    """Spoil something of a good store, and make it again: refused, and nothing has changed."""
    database = store.folder / "results" / "results.duckdb"
    before = database.read_bytes()
    spoil()
    with pytest.raises(StpError) as caught:
        again(store)
    assert database.read_bytes() == before
    left = {path.name for path in database.parent.iterdir()}
    assert left == {"collected", "results.duckdb"}, "no half-built store lies about"
    assert caught.value.expected and caught.value.remedy
    return caught.value


def changed(name: str, row: int, value: object) -> Change:
    """A change of one value of a table."""

    def change(rows: pa.Table) -> pa.Table:
        column = rows[name].to_pylist()
        column[row] = value
        field = rows.schema.field(name)
        return rows.set_column(
            rows.schema.get_field_index(name), field, pa.array(column, field.type)
        )

    return change


def retyped(name: str, kind: pa.DataType) -> Change:
    """A change of the type of a column."""
    return lambda rows: rows.set_column(
        rows.schema.get_field_index(name), name, rows[name].cast(kind)
    )


def spare(rows: pa.Table) -> pa.Table:
    """A column that nobody knows."""
    return rows.append_column("mood", pa.array(["good"] * len(rows)))


def doubled(rows: pa.Table) -> pa.Table:
    """The second row twice."""
    return pa.concat_tables([rows, rows.slice(1, 1)])


BAD_ROWS = [
    (changed("value", 1, math.nan), r"row 2: .*NaN"),
    (changed("value", 0, math.inf), r"row 1: .*infinite"),
    (changed("value", 2, None), r"row 3: .*NULL"),
    (changed("convention", 1, "rmse.guess"), r"row 2: .*rmse\.guess"),
    (lambda rows: rows.drop_columns("lead"), r"lead"),
    (retyped("lead", pa.float64()), r"lead.*double"),
    (spare, r"mood"),
]


@pytest.mark.parametrize(("change", "message"), [*BAD_ROWS, (doubled, "row 4")])
def test_a_bad_score_artefact_is_refused(store: SmallStore, change: Change, message: str) -> None:
    folder = Path(store.cells[1]["scores"])

    def spoil() -> None:
        rows = score_rows(store.cells[1]["key"], VALUES)
        pq.write_table(change(rows), folder / "scores.parquet")
        write_receipt(folder, "score")

    error = refused(store, spoil, make)
    assert error.what.startswith(str(folder / "scores.parquet"))
    assert re.search(message, error.what), error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        *BAD_ROWS[:3],
        *(pytest.param(*case, marks=pytest.mark.long(part="kinds")) for case in BAD_ROWS[3:]),
        (doubled, r"row 7: .*short_term\.parquet, row 2"),
        (changed("metric", 0, "mae"), r"row 1: .*metric"),
        (changed("statistic", 0, "mode"), r"row 1: .*statistic"),
        (changed("model", 4, None), r"row 5: .*NULL"),
        (changed("model", 4, "tau"), r"row 5"),
        (changed("source", 3, "official"), r"row 4: .*source"),
        (changed("leaky", 4, True), r"row 5: .*leaky"),
        (lambda rows: rows.slice(0, 3), r"short_term\.json: cells\[1\]"),
    ],
)
def test_a_bad_collected_file_is_refused(store: SmallStore, change: Change, message: str) -> None:
    path = rows_of(store)
    error = refused(store, lambda: pq.write_table(change(pq.read_table(path)), path), build)
    assert error.what.startswith(str(path))
    assert re.search(message, error.what), error


def test_a_damaged_collected_file_is_refused(store: SmallStore) -> None:
    path = rows_of(store)

    def cut() -> None:
        path.write_bytes(path.read_bytes()[:-300])

    assert "short_term.parquet" in refused(store, cut, build).what

    def flip() -> None:  # the footer is whole, a page is not
        content = bytearray(path.read_bytes())
        content[4:400] = bytes(396)
        path.write_bytes(bytes(content))

    assert "short_term.parquet" in refused(store, flip, build).what


def test_scores_that_lack_a_column_of_the_table_are_refused(store: SmallStore) -> None:
    folder = Path(store.cells[1]["scores"])

    def spoil() -> None:
        rows = score_rows(store.cells[1]["key"], {"ssim.range2": {"mean": 0.5}})
        pq.write_table(rows, folder / "scores.parquet")
        write_receipt(folder, "score")

    store.manifest["conventions"]["ssim.range2"] = convention_facts(True)
    error = refused(store, spoil, make)
    assert str(folder / "scores.parquet") in error.what and "rmse.per_frame" in error.what


def test_a_convention_in_both_score_artefacts_of_a_cell_is_refused(store: SmallStore) -> None:
    def spoil() -> None:
        store.add("convlstm", "enso", VALUES, seed=2, perceptual=VALUES)

    error = refused(store, spoil, make)
    assert "perceptual" in error.what


def test_two_artefacts_of_one_cell_are_refused(store: SmallStore) -> None:
    """The same cell in one manifest twice, and in two manifests."""

    def twice() -> None:
        store.cells.append({**store.cells[1], "scores": store.cells[0]["scores"]})

    error = refused(store, twice, make)
    assert "cells[1]" in error.what and "cells[2]" in error.what
    store.cells.pop()
    make(store)

    def again() -> None:
        rows = rows_of(store)
        other = rows.with_name("other.parquet")
        other.write_bytes(rows.read_bytes())
        other.with_suffix(".json").write_bytes(rows.with_suffix(".json").read_bytes())

    error = refused(store, again, build)
    both = r"short_term\.json: cells\[0\].*other\.json: cells\[0\]"
    assert re.search(both, error.what) and "model convlstm" in error.what


def test_a_value_that_does_not_exist_is_null_with_its_reason(store: SmallStore) -> None:
    exact = {"mean": None, "reason": "predicted exactly"}
    store.manifest["conventions"]["psnr.per_frame"] = convention_facts(True)
    store.add("persistence", "enso", {**VALUES, "psnr.per_frame": exact})
    database = make(store)
    with duckdb.connect(str(database), read_only=True) as asked:
        sql = "SELECT value, reason FROM overall WHERE metric = 'psnr'"
        assert asked.execute(sql).fetchall() == [(None, "predicted exactly")]


def test_a_manifest_that_was_cut_is_refused(store: SmallStore) -> None:
    path = rows_of(store).with_suffix(".json")
    error = refused(store, lambda: path.write_text(json.dumps({"cells": []})), build)
    assert str(path) in error.what


def test_a_flipped_bit_in_collected_rows_is_refused(store):
    """Inside a page, where DuckDB, which reads it, sees another number."""

    def spoil() -> None:
        with pq.ParquetFile(rows_of(store)) as file:
            columns = [
                file.metadata.row_group(0).column(i) for i in range(file.metadata.num_columns)
            ]
        (values,) = [column for column in columns if column.path_in_schema == "value"]
        content = bytearray(rows_of(store).read_bytes())
        start = values.dictionary_page_offset or values.data_page_offset
        content[start + values.total_compressed_size - 2] ^= 1
        rows_of(store).write_bytes(content)

    problem = refused(store, spoil, build)
    assert str(rows_of(store)) in problem.what and "checksum" in problem.what
