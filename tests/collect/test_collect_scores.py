"""Collecting rows: what is refused, what is added, and that nothing depends on chance."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from small_store import SmallStore, convention_facts, score_rows, table_column, write_receipt

from stp.collect.sample_files import COLUMNS
from stp.collect.scores import COLLECTED, SCORES, collect
from stp.core.errors import StpError
from stp.score import tables


@pytest.fixture
def store(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path)


def collected(store: SmallStore) -> pa.Table:
    out = store.folder / "collected.parquet"
    collect(store.write(), out)
    return pq.read_table(out)


def test_collect_demands_the_schemas_that_score_writes() -> None:
    assert tables.SCORES.equals(SCORES)
    assert tables.SAMPLES.names == list(COLUMNS)


def test_rows_carry_source_scale_and_fingerprint(store: SmallStore) -> None:
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.6, "leads": [0.5, 0.7]}}, seed=0)
    rows = collected(store)
    assert rows.schema.equals(COLLECTED)
    assert rows["lead"].to_pylist() == [1, 2, None]
    assert rows["value"].to_pylist() == [0.5, 0.7, 0.6]
    first = rows.slice(0, 1).to_pylist()[0]
    about = {name: first[name] for name in COLLECTED.names[-12:]}
    assert about == {
        "source": "synthetic",
        "release": "digits",
        "bytes_known_by": None,
        "lacking": None,
        "accepted": None,
        "scale": "demo",
        "protocol": "demo",
        "official_paper_protocol": False,
        "comparable": False,
        "leaky": False,
        "best_of": 1,
        "scores_fingerprint": "a000000000000000",
    }


def test_unavailable_convention_gets_a_row_with_the_reason(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})
    rows = collected(store).to_pylist()
    (absent,) = [row for row in rows if row["convention"] == "lpips.alex"]
    assert absent["value"] is None
    assert absent["metric"] == "lpips"
    assert absent["statistic"] == "mean"
    assert absent["reason"] == "metric not available yet"


def test_what_is_scored_beside_the_columns_has_a_reason_too(store: SmallStore) -> None:
    store.manifest["unavailable"]["fvd.predicted_only"] = "the weights of i3d are not there"
    store.manifest["conventions"]["fvd.predicted_only"] = convention_facts(False)
    store.manifest["tables"]["short_term"]["unscored"] = {"moving_mnist": ["fvd.predicted_only"]}
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": 0.5}})
    rows = collected(store).to_pylist()
    (absent,) = [row for row in rows if row["convention"] == "fvd.predicted_only"]
    assert (absent["tested_on"], absent["value"]) == ("moving_mnist", None)
    assert absent["reason"] == "the weights of i3d are not there"


def test_all_scores_of_a_cell_may_be_perceptual(store: SmallStore) -> None:
    store.manifest["unavailable"] = {}
    columns = store.manifest["tables"]["short_term"]["columns"]
    columns["moving_mnist"] = [table_column("LPIPS", "lpips.alex")]
    store.add("persistence", "moving_mnist", {}, perceptual={"lpips.alex": {"mean": 0.5}})
    assert [row["value"] for row in collected(store).to_pylist()] == [0.5]


def test_unavailable_column_of_a_variable_names_the_variable(store: SmallStore) -> None:
    store.manifest["unavailable"]["wrmse.per_frame"] = "metric not available yet"
    store.add("persistence", "weatherbench", {"rmse.pooled": {"mean": 1.0}})
    rows = collected(store).to_pylist()
    variables = [row["variable"] for row in rows if row["convention"] == "wrmse.per_frame"]
    assert variables == ["t2m", "t850"]


def test_a_column_of_one_lead_time_has_its_own_rows(store: SmallStore) -> None:
    """Made of the sums over clusters, beside all rows of the scores."""
    columns = [
        table_column("RMSE", "rmse.per_frame"),
        table_column("last RMSE", "rmse.per_frame", lead="2"),
    ]
    store.manifest["tables"]["short_term"]["columns"]["enso"] = columns
    cell = store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.6, "leads": [0.5, 0.7]}})
    sums = {"rmse.per_frame": np.array([[[0.4, 0.6]], [[1.1, 1.5]]])}
    path = Path(cell["scores"], "cluster_sums.parquet")
    tables.write_clusters(path, ["a", "b"], np.array([1, 2]), sums)
    rows = collected(store).to_pylist()
    means = {
        (row["leads"], row["lead"]): row["value"] for row in rows if row["statistic"] == "mean"
    }
    expected = {(None, 1): 0.5, (None, 2): 0.7, (None, None): 0.6, ("2", None): pytest.approx(0.7)}
    assert means == expected


def test_cells_keep_the_order_of_the_manifest_and_bytes_are_the_same(store: SmallStore) -> None:
    store.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.5}})
    store.add("convlstm", "moving_mnist", {"ssim.range2": {"mean": 0.9}}, seed=0)
    rows = collected(store)
    first = (store.folder / "collected.parquet").read_bytes()
    collected(store)
    assert (store.folder / "collected.parquet").read_bytes() == first
    assert rows["model"].unique().to_pylist() == ["persistence", "convlstm"]


def flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    ("spoil", "name", "has_receipt"),
    [
        (None, "scores.parquet", True),
        (None, "artefact.json", True),
        (lambda content: content[:-100], "scores.parquet", True),
        (flipped, "scores.parquet", True),
        (lambda content: b"not parquet", "scores.parquet", False),
    ],
)
def test_a_missing_or_damaged_file_is_named_and_the_old_rows_stay(
    store: SmallStore, spoil: Callable[[bytes], bytes] | None, name: str, has_receipt: bool
) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    collected(store)
    old = (store.folder / "collected.parquet").read_bytes()
    path = Path(cell["scores"]) / name
    if spoil is None:
        path.unlink()
    else:
        path.write_bytes(spoil(path.read_bytes()))
    if not has_receipt:  # as the job itself wrote it
        write_receipt(path.parent, "score")
    with pytest.raises(StpError) as caught:
        collected(store)
    assert caught.value.what.startswith(f"{path}: ")
    assert name == "artefact.json" or f"rm -r {cell['scores']}" in caught.value.remedy
    assert (store.folder / "collected.parquet").read_bytes() == old
    names = {entry.name for entry in store.folder.iterdir()}
    assert names == {"store", "manifest.json", "collected.parquet"}


def rewrite(cell: dict, rows: pa.Table) -> None:
    """Replace the rows of a cell as if its score job had written them."""
    folder = Path(cell["scores"])
    pq.write_table(rows, folder / "scores.parquet")
    write_receipt(folder, "score")


def test_wrong_schema_names_the_columns(store: SmallStore) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    rows = score_rows(cell["key"], {"rmse.per_frame": {"mean": 1.0}})
    lead = rows.schema.get_field_index("lead")
    rows = rows.set_column(lead, "lead", pa.array([1.5])).drop_columns("reason")
    rewrite(cell, rows)
    with pytest.raises(StpError, match=r"reason.*lead.*double"):
        collected(store)


def test_columns_of_nulls_and_large_strings_are_the_same_schema(store: SmallStore) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    rows = score_rows(cell["key"], {"rmse.per_frame": {"mean": 1.0}})
    variable = rows.schema.get_field_index("variable")
    rows = rows.set_column(variable, "variable", pa.nulls(1))
    model = rows.schema.get_field_index("model")
    rows = rows.set_column(model, "model", rows["model"].cast(pa.large_string()))
    rewrite(cell, rows)
    assert collected(store).schema.equals(COLLECTED)


def test_rows_of_another_cell_are_refused(store: SmallStore) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    rewrite(cell, score_rows(cell["key"] | {"seed": 3}, {"rmse.per_frame": {"mean": 1.0}}))
    with pytest.raises(StpError, match=r"seed.*\[3\]") as caught:
        collected(store)
    assert "model persistence" in caught.value.expected


def test_a_convention_that_the_manifest_does_not_know_is_named(store: SmallStore) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    given = {"rmse.per_frame": {"mean": 1.0}, "rmse.per_year": {"mean": 1.0}}
    rewrite(cell, score_rows(cell["key"], given))
    with pytest.raises(StpError, match=r"row 2.*rmse\.per_year"):
        collected(store)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_values_that_are_no_numbers_and_repeated_rows_are_refused(
    store: SmallStore, value: float | None
) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": value}})
    with pytest.raises(StpError, match=r"scores\.parquet.*row 1"):
        collected(store)
    rows = score_rows(cell["key"], {"rmse.per_frame": {"mean": 1.0}})
    rewrite(cell, pa.concat_tables([rows, rows]))
    with pytest.raises(StpError, match=r"scores\.parquet"):
        collected(store)


def test_receipt_of_another_artefact_is_refused(store: SmallStore) -> None:
    cell = store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    write_receipt(Path(cell["scores"]), "score", fingerprint="f" * 16)
    with pytest.raises(StpError, match="f" * 16):
        collected(store)


def test_all_bad_cells_are_named_at_once(store: SmallStore) -> None:
    cells = [
        store.add(model, "enso", {}, scored=False, seed=seed)
        for model, seed in [("persistence", None), ("convlstm", 0)]
    ]
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 1.0}}, seed=1)
    with pytest.raises(StpError, match="2 of 3") as caught:
        collected(store)
    assert all(cell["scores"] in str(caught.value) for cell in cells)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cells": []}, r"manifest\.json"),
        ({"tables": {"short_term": {"columns": {}}}}, "enso"),
    ],
)
def test_unusable_manifests_are_refused(store: SmallStore, change: dict, message: str) -> None:
    store.add("persistence", "enso", {"rmse.per_frame": {"mean": 1.0}})
    store.manifest |= change
    with pytest.raises(StpError, match=message):
        collected(store)


def test_manifest_that_is_missing_damaged_or_incomplete(store: SmallStore) -> None:
    out = store.folder / "collected.parquet"
    with pytest.raises(StpError, match="nowhere"):
        collect(store.folder / "nowhere.json", out)
    path = store.folder / "manifest.json"
    path.write_text("{")
    with pytest.raises(StpError, match=r"manifest\.json"):
        collect(path, out)
    path.write_text(json.dumps({"cells": [{"key": {}}]}))
    with pytest.raises(StpError, match=r"manifest\.json") as caught:
        collect(path, out)
    assert "cells[0].key.model" in caught.value.expected


def test_leads_of_all_rows_are_sorted_with_the_overall_value_last(store: SmallStore) -> None:
    values = {"rmse.per_frame": {"mean": 0.6, "leads": [0.5, 0.7]}, "acc.x": {"mean": 0.1}}
    store.add("persistence", "enso", values)
    rows = collected(store)
    assert rows["convention"].to_pylist() == ["acc.x", *["rmse.per_frame"] * 3]
    assert pc.is_null(rows["lead"]).to_pylist() == [True, False, False, True]
