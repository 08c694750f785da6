"""Frechet distances are compared at equal N: by hand, and as they stand in results.duckdb."""

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from small_store import PUBLISHED, SmallStore, convention_facts, suite, table_column, write_receipt

from stp.collect import equal_sample_size
from stp.collect.database import build
from stp.collect.scores import collect
from stp.core.errors import StpError
from stp.data import feature_table
from stp.metrics import frechet
from stp.metrics.set_distance import SetFeatures

FVD = "fvd.predicted_only"
NAME = "predicted_only/i3d.logits"
ROWS = (
    "SELECT tested_on, subset, n, clips, value, sd, repeats, reason FROM matched_distances "
    "WHERE comparison = ? AND model = ? ORDER BY clips"
)


def clips(n: int, seed: int) -> SetFeatures:
    """What a network of six features saw in ``n`` clips."""
    rng = np.random.default_rng(seed)
    return SetFeatures(rng.normal(size=(n, 6)), rng.normal(0.3, 1.2, size=(n, 6)))


class Cells:
    """Cells with distances and the features behind them, by dimension."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stores: dict[str, SmallStore] = {}
        self.convention = FVD

    def add(
        self,
        dimension: str,
        features: SetFeatures | None,
        keep: bool = True,
        value: float | None = None,
        reason: str | None = None,
        model: str = "convlstm",
        trained_on: str = "bridge",
        seed: int = 0,
        **key: Any,
    ) -> float | None:
        """Add a cell; returns its distance between all clips."""
        store = self.stores.setdefault(dimension, SmallStore(self.folder / dimension))
        store.manifest["dimension"] = dimension
        store.manifest["tables"] = {
            dimension: {
                "columns": {
                    name: [table_column("FVD", self.convention)]
                    for name in ("bridge", "kitti", "caltech")
                }
            }
        }
        facts = convention_facts(False, compares_sets=True)
        store.manifest["conventions"][self.convention] = facts
        n = 0
        if features is not None:
            n, value = len(features.observed), frechet.distance(*features[:2])
        cell = store.add(
            model,
            trained_on,
            {"ssim.range2": {"mean": 0.5}},
            seed=seed,
            perceptual={self.convention: {"mean": value, "n": n, "reason": reason}},
            dimension=dimension,
            trained_on=trained_on,
            tested_on=key.pop("tested_on", trained_on),
            **key,
        )
        if features is not None and keep:
            folder = Path(cell["perceptual"])
            names = [f"clip{i}" for i in range(n)]
            root, inputs = folder.parents[2], {}
            for of, values in zip(("observed", "predicted"), features[:2], strict=True):
                seen = root / "features" / of / folder.name
                seen.mkdir(parents=True, exist_ok=True)
                feature_table.write(seen, names, feature_table.Features(values))
                write_receipt(seen, "features")
                inputs[f"{NAME}.{of}"] = str(seen.relative_to(root))
            recipe = {
                "features": {self.convention: NAME},
                "conventions": {self.convention: {"function": "frechet"}},
            }
            write_receipt(folder, "score", recipe=recipe, inputs=inputs)
        return value

    def build(self, cache: Path | None = None, report: Any = None) -> Path:
        manifests, rows = [], []
        for name, store in self.stores.items():
            manifests.append(store.write())
            rows.append(self.folder / f"{name}.parquet")
            collect(manifests[-1], rows[-1])
        out = self.folder / "results.duckdb"
        build(manifests, rows, out, cache, report)
        return out


@pytest.fixture
def cells(tmp_path: Path) -> Cells:
    return Cells(tmp_path)


def ask(database: Path, *values: Any, sql: str = ROWS) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql, list(values)).fetchall()


def drawn(features: SetFeatures, n: int) -> tuple[float, float]:
    """Mean and spread of ten drawings, written down once more."""
    values = []
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(features.observed))
        x, y = (part[np.sort(order[:n])] for part in features[:2])
        root = np.linalg.eigvals(np.cov(x.T) @ np.cov(y.T)).real.clip(min=0) ** 0.5
        difference = x.mean(0) - y.mean(0)
        spread = np.trace(np.cov(x.T)) + np.trace(np.cov(y.T)) - 2 * root.sum()
        values.append(difference @ difference + spread)
    return statistics.fmean(values), statistics.stdev(values)


def test_the_smallest_cell_says_how_many_clips_are_drawn(cells: Cells) -> None:
    test, scenes, tasks = clips(60, 1), clips(25, 2), clips(40, 3)
    cells.add("short_term", test)
    all_of_it = cells.add("generalization", scenes, subset="new_scene_new_task")
    cells.add("generalization", tasks, subset="original_scene_new_task")
    found = ask(cells.build(), "generalization", "convlstm")
    (tasks_value, tasks_sd), (test_value, test_sd) = drawn(tasks, 25), drawn(test, 25)
    assert found == [
        ("bridge", "new_scene_new_task", 25, 25, all_of_it, None, 0, None),
        ("bridge", "original_scene_new_task", 25, 40, pytest.approx(tasks_value),
         pytest.approx(tasks_sd), 10, None),
        ("bridge", "test", 25, 60, pytest.approx(test_value), pytest.approx(test_sd), 10, None),
    ]  # fmt: skip


def test_a_distance_of_any_name_is_drawn(cells: Cells) -> None:
    """It is one that is declared as comparing sets; its function is that of the scores."""
    cells.convention = "drift.own"
    test = clips(30, 1)
    cells.add("short_term", test)
    cells.add("generalization", clips(12, 2), subset="new_scene_new_task")
    found = ask(cells.build(), "generalization", "convlstm")
    assert found[-1][2:5] == (12, 30, pytest.approx(drawn(test, 12)[0]))
    for store in cells.stores.values():
        assert store.manifest["conventions"]["drift.own"]["compares_sets"]


def test_equal_numbers_are_all_clips_and_need_no_features(cells: Cells) -> None:
    values = {
        dimension: cells.add(dimension, clips(20, seed), keep=False, subset=subset)
        for seed, (dimension, subset) in enumerate(
            [("short_term", "test"), ("generalization", "moscow")]
        )
    }
    found = ask(cells.build(), "generalization", "convlstm")
    assert {row[1]: row[4] for row in found} == {
        "test": values["short_term"],
        "moscow": values["generalization"],
    }
    assert {row[5:] for row in found} == {(None, 0, None)}


@pytest.mark.long(part="kinds")
def test_a_dimension_that_changes_from_itself_is_compared_with_nothing_else(cells: Cells) -> None:
    cells.add("short_term", clips(10, 1))
    two, three = clips(30, 2), clips(20, 3)
    for interval, features in ((2, two), (3, three)):
        setting = f"horizon-10+interval-{interval}"
        cells.add("robustness", features, subset="robustness", setting=setting)
    found = ask(cells.build(), "robustness", "convlstm")
    assert [row[1:4] for row in found] == [("robustness", 20, 20), ("robustness", 20, 30)]
    assert found[1][4] == pytest.approx(drawn(two, 20)[0])


@pytest.mark.long(part="kinds")
def test_models_are_drawn_the_same_clips(cells: Cells) -> None:
    for model in ("convlstm", "simvpv2"):
        cells.add("short_term", clips(30, 1), model=model)
        cells.add("generalization", clips(12, 2), model=model, tested_on="caltech")
    database = cells.build()
    of = [ask(database, "generalization", model) for model in ("convlstm", "simvpv2")]
    assert of[0] == of[1]


@pytest.mark.long(part="kinds")
def test_other_trainings_and_single_cells_are_no_comparison(cells: Cells) -> None:
    cells.add("short_term", clips(30, 1))
    cells.add("generalization", clips(12, 2), trained_on="kitti", tested_on="caltech")
    cells.add("short_term", clips(30, 1), model="tau")
    assert ask(cells.build(), sql="SELECT * FROM matched_distances") == []


def test_a_value_that_is_not_there_has_a_reason(cells: Cells) -> None:
    cells.add("short_term", clips(30, 1), keep=False)
    cells.add("generalization", clips(12, 2), subset="new_scene_new_task")
    cells.add("generalization", None, reason="no weights", subset="original_scene_new_task")
    found = ask(cells.build(), "generalization", "convlstm")
    assert [(row[2], row[3], row[7]) for row in found] == [
        (12, 0, "no weights"),
        (12, 12, None),
        (12, 30, "its 30 clips left no features to draw 12 from"),
    ]
    assert [row[4] is None for row in found] == [True, False, True]


@pytest.mark.long(part="kinds")
def test_nothing_has_features_without_weights(cells: Cells) -> None:
    for dimension, subset in (("short_term", "test"), ("generalization", "moscow")):
        cells.add(dimension, None, reason="the weights of i3d are not there", subset=subset)
    found = ask(cells.build(), "generalization", "convlstm")
    assert [(row[2], row[4], row[7]) for row in found] == [
        (None, None, "the weights of i3d are not there")
    ] * 2


def test_what_was_drawn_is_not_drawn_again(
    cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells.add("short_term", clips(30, 1))
    cells.add("generalization", clips(12, 2), subset="new_scene_new_task")
    cache, told = tmp_path / "cache.parquet", []

    def tell(line: str) -> None:
        told.extend([line] if line.startswith("distances") else [])

    before = ask(cells.build(cache, tell), "generalization", "convlstm")
    assert len(told) == 1
    with monkeypatch.context() as patch:
        patch.setattr(equal_sample_size, "at_n", None)  # whoever calls it fails
        assert ask(cells.build(cache, tell), "generalization", "convlstm") == before
    assert len(told) == 1
    # Other code draws anew, and a damaged file is as good as none.
    for store in cells.stores.values():
        store.manifest["code"] = "d" * 16
    assert ask(cells.build(cache, tell), "generalization", "convlstm") == before
    cache.write_bytes(b"PAR1")
    assert ask(cells.build(cache, tell), "generalization", "convlstm") == before
    assert len(told) == 3


@pytest.mark.long(part="kinds")
def test_a_smaller_cell_changes_the_number_for_all(cells: Cells, tmp_path: Path) -> None:
    test = clips(30, 1)
    cells.add("short_term", test)
    cells.add("generalization", clips(12, 2), subset="new_scene_new_task")
    cells.build(tmp_path / "cache.parquet")
    cells.add("generalization", clips(9, 4), subset="new_scene_original_task")
    found = ask(cells.build(tmp_path / "cache.parquet"), "generalization", "convlstm")
    assert [row[2] for row in found] == [9, 9, 9]
    assert found[-1][4] == pytest.approx(drawn(test, 9)[0])


def test_scores_that_were_made_again_are_drawn_again(cells: Cells, tmp_path: Path) -> None:
    """Under the same fingerprint: on another processor, or after they were lost."""
    cells.add("short_term", clips(30, 1))
    cells.add("generalization", clips(12, 2), subset="new_scene_new_task")
    cache = tmp_path / "cache.parquet"
    cells.build(cache)
    store = cells.stores["short_term"]
    again = clips(30, 5)
    folder = Path(store.manifest["cells"][0]["perceptual"])
    receipt = json.loads((folder / "artefact.json").read_text())
    for of, values in zip(("observed", "predicted"), again[:2], strict=True):
        seen = folder.parents[2] / receipt["inputs"][f"{NAME}.{of}"]
        shutil.rmtree(seen)
        seen.mkdir()
        feature_table.write(seen, [f"clip{i}" for i in range(30)], feature_table.Features(values))
        write_receipt(seen, "features")
    (folder / "note.txt").write_text("again")
    write_receipt(folder, "score", recipe=receipt["recipe"], inputs=receipt["inputs"])
    found = ask(cells.build(cache), "generalization", "convlstm")
    assert found[-1][4] == pytest.approx(drawn(again, 12)[0])


def test_damaged_features_are_named(cells: Cells) -> None:
    cells.add("short_term", clips(30, 1))
    cells.add("generalization", clips(12, 2), subset="new_scene_new_task")
    path = next(cells.folder.glob("short_term/**/features.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StpError, match=r"features\.parquet"):
        cells.build()


@pytest.mark.long(part="kinds")
def test_rows_of_changes_use_them(cells: Cells) -> None:
    """`paper_changes` compares FVD of unequal cells at equal N, or says that it cannot."""
    test, scenes = clips(30, 1), clips(12, 2)
    cells.add("short_term", test)
    value = cells.add("generalization", scenes, subset="new_scene_new_task")
    cells.add("short_term", clips(30, 5), model="simvpv2", keep=False)
    cells.add("generalization", scenes, model="simvpv2", subset="new_scene_new_task")
    for store in cells.stores.values():
        store.manifest |= {"published": str(PUBLISHED), "suite": suite("predbench")}
        store.manifest["published_names"]["datasets"]["bridge"] = "BridgeData"
    found = ask(
        cells.build(),
        sql="SELECT model, base_value, value, base_n, n, decline, fair, remark FROM paper_changes "
        "WHERE side = 'ours' AND metric = 'FVD' AND subset = 'new_scene_new_task' ORDER BY model",
    )
    at_12 = drawn(test, 12)[0]
    assert found[0] == (
        "convlstm", pytest.approx(at_12), value, 12, 12,
        pytest.approx((value - at_12) / at_12), True, None,
    )  # fmt: skip
    model, *_, decline, fair, remark = found[1]
    assert (model, decline, fair) == ("simvpv2", None, False)
    assert remark == (
        "not comparable: FVD of 30 and 12 clips (its 30 clips left no features to draw 12 from)"
    )


@pytest.mark.long(part="kinds")
def test_seeds_with_other_numbers_of_clips_are_not_compared(cells: Cells) -> None:
    for seed, n in enumerate((12, 10)):
        cells.add("short_term", clips(30, 1), seed=seed)
        cells.add("generalization", clips(n, 2), seed=seed, subset="new_scene_new_task")
    for store in cells.stores.values():
        store.manifest |= {"published": str(PUBLISHED), "suite": suite("predbench")}
        store.manifest["published_names"]["datasets"]["bridge"] = "BridgeData"
    assert ask(
        cells.build(),
        sql="SELECT decline, fair, remark FROM paper_changes "
        "WHERE side = 'ours' AND NOT fair AND metric = 'FVD' AND subset = 'new_scene_new_task'",
    ) == [
        (
            None,
            False,
            "not comparable: FVD of 30 and 10 clips (seeds have 10 to 12 clips in common)",
        )
    ]
