"""Forty small models in a results store: scores of three metrics, and predictions to look at."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from small_store import SmallStore, built, convention_facts, table_column
from toy_scored import write, write_scored

from stp.data.zarr_write import create_group
from stp.plan.checked_config import read_yaml

MODELS, CLIPS, CONTEXT, LEADS, SIDE = 40, 6, 2, 3, 8
FVD, PSNR, KVD = "fvd.predicted_only", "psnr.pooled", "kvd.predicted_only"
STUDY = {
    "item": "pair",
    "question": "Which of the two videos looks better?",
    "consent": "I take part.",
    "seed": 3,
    "metrics": {
        "FVD": {"convention": FVD, "higher_is_better": False},
        "PSNR": {"convention": PSNR, "higher_is_better": True},
        "KVD": {"convention": KVD, "higher_is_better": False},
    },
    "equal": ["FVD", "PSNR"],
    "spread": ["FVD", "PSNR"],
    "gaps": {"metric": "FVD", "bases": [200], "steps": [10, 200, 900], "tolerance": 8},
}


def values() -> tuple[np.ndarray, np.ndarray]:
    """FVD and PSNR of each model, (40,) both: FVD from 150 to 540, a dozen models near its best
    quartile alike in four digits; PSNR has nothing to do with it."""
    rng = np.random.default_rng(8)
    fvd = np.concatenate(
        [200 + rng.uniform(0, 0.01, 12), np.linspace(150, 190, 5), np.linspace(205, 540, 23)]
    )
    return fvd, rng.permutation(np.linspace(20, 32, MODELS))


def write_population(folder: Path) -> Path:
    """Write a results store; KVD has no weights. Returns its path."""
    rng = np.random.default_rng(0)
    clips = rng.integers(0, 256, (CLIPS, CONTEXT + LEADS, 1, SIDE, SIDE), dtype=np.uint8)
    truth = clips[:, CONTEXT:] / 255
    (folder / "made").mkdir()
    scored = write_scored(folder / "made", clips, truth.astype(np.float32))
    index = pd.read_parquet(scored.root / "predictions" / "index.parquet")
    store = SmallStore(folder)
    conventions = {
        FVD: convention_facts(False), PSNR: convention_facts(True), KVD: convention_facts(False)
    }  # fmt: skip
    store.manifest["conventions"] = conventions
    store.manifest["tables"]["short_term"]["columns"] = {
        "bair": [table_column(c, c) for c in conventions]
    }
    for number, (fvd, psnr) in enumerate(zip(*values(), strict=True)):
        given = {FVD: {"mean": fvd}, PSNR: {"mean": psnr}}
        given[KVD] = {"mean": None, "reason": "weights of i3d are not there"}
        cell = store.add(f"small{number % 8}", "bair", given, variant=f"v{number // 8}")
        group = create_group(Path(cell["predictions"]) / "predictions.zarr", {"units": "1"})
        noisy = np.clip(truth + rng.normal(0, fvd / 1000, truth.shape), 0, 1)
        write(group, "predictions", noisy.astype(np.float32), "sample", "lead")
        index.to_parquet(Path(cell["predictions"]) / "index.parquet")
    data = Path(cell["data"])
    shutil.copytree(scored.root / "data", data, dirs_exist_ok=True)
    return built(store)


def write_models(folder: Path, count: int) -> Path:
    """Write a CSV file of models with FVD, and three videos of each; returns its path."""
    rng = np.random.default_rng(0)
    lines = [f"model,clips,FVD,{PSNR}"]
    for number in range(count):
        (folder / f"m{number}").mkdir(parents=True)
        clips = rng.integers(0, 256, (3, 4, 3, 10, 12), dtype=np.uint8)
        np.save(folder / f"m{number}" / "all.npy", clips)
        lines.append(f"model {number},m{number},{200 + 10 * number},")
    path = folder / "models.csv"
    path.write_text("\n".join([*lines, ""]))
    return path


def write_pair_study(path: Path, **changes: object) -> Path:
    """Write the configuration of a study; JSON is YAML."""
    path.write_text(json.dumps(STUDY | changes))
    assert read_yaml(path)
    return path
