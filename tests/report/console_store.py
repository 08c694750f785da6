"""A small store in which each of the five everyday questions has an answer."""

import json
from pathlib import Path
from typing import Any

import duckdb
from figure_store import FigureStore
from hostile import HOSTILE
from small_store import write_receipt

from stp.collect.database import build


def console_store(folder: Path) -> Path:
    """Build results.duckdb in a folder, of two dimensions, and return its path."""
    short = FigureStore(folder / "short")
    short.manifest["names"] = {
        "models": {"convlstm": "ConvLSTM", "simvpv2": HOSTILE},
        "datasets": {"kth": "KTH", "nuscenes": "nuScenes"},
    }
    short.manifest["store"] = str(folder / "short" / "store")
    short.column("kth", "SSIM", "ssim.range2", higher_is_better=True, title='a "similarity"')
    short.column("kth", "LPIPS", "lpips.alex", higher_is_better=False)
    short.column("nuscenes", "SSIM", "ssim.range2", higher_is_better=True, title='a "similarity"')
    scored = (
        ("convlstm", "kth", 0.71234567890123),
        ("simvpv2", "kth", 0.84),
        ("persistence", "kth", 0.6),
        ("tau", "nuscenes", 0.9),
    )
    for model, dataset, value in scored:
        made = short.scored(
            model,
            dataset,
            {
                "ssim.range2": {
                    "mean": value,
                    "leads": [value, value - 0.1],
                    "low": 0.5,
                    "high": 1,
                },
                "lpips.alex": {"mean": None, "reason": "no weights, at all"},
            },
            seed=None if model == "persistence" else 0,
        )
        lock = Path(short.manifest["store"], "raw", f"{model}.json")
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = {"bytes": 2**60 + 1, "sha256": "5" * 64}
        lock.write_text(json.dumps({"dataset": dataset, "files": {"raw.zip": file}}))
        attempt = {
            "attempt": 1,
            "how": "completed",
            "time": 1700000000.25,
            "ended": 1700000100.123456,
        }
        write_receipt(
            Path(made["data"]), "prepare", inputs={"raw": f"raw/{model}.json"}, attempts=[attempt]
        )
    robust = FigureStore(folder / "robust", "robustness")
    robust.column("nuscenes", "SSIM", "ssim.range2", higher_is_better=True, title='a "similarity"')
    for model in ("convlstm", "simvpv2"):
        for interval, value in ((1, 0.8), (3, 0.6 if model == "convlstm" else 0.75)):
            robust.scored(
                model, "nuscenes", {"ssim.range2": value},
                seed=0, subset="robustness", setting=f"horizon-3+interval-{interval}",
            )  # fmt: skip
    plans, rows = [], []
    for store in (short, robust):
        store.manifest["published_names"] = {
            "models": {"convlstm": "ConvLSTM", "simvpv2": "SimVPv2"},
            "datasets": {"kth": "KTH", "nuscenes": "nuScenes"},
        }
        plan, results = store.results()
        plans.append(plan)
        rows.append(results / "collected" / f"{store.manifest['dimension']}.parquet")
    database = folder / "results.duckdb"
    build(plans, rows, database)
    return database


def ask(database: Path, sql: str) -> list[tuple[Any, ...]]:
    """The rows of an answer of the store itself."""
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute(sql).fetchall()
