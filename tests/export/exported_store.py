"""A results store of two models to export, whose receipts name a machine, an account and paths."""

import json
from pathlib import Path

from small_store import PUBLISHED, SmallStore, built, dataset_facts, model_facts, write_receipt

LOCK = "raw/moving_mnist/synthetic-0123456789abcdef.lock.json"
TRAIN = {"batch_size": 4, "lr": 0.0005, "optimizer": "adam", "schedule": "onecycle", "epochs": 2}
STAGE = {"data": "prepare", "model": "train", "predictions": "predict", "scores": "score"}


def make_results(folder: Path, reason: str, *, official: bool = False) -> Path:
    """Make a store, and results.duckdb from it; return the database.

    Args:
        folder: a new folder.
        reason: why LPIPS has no value.
        official: whether bytes and protocol are the paper's.
    """
    small = SmallStore(folder, PUBLISHED)
    small.manifest["models"] = {
        "convlstm": model_facts("sgd", reference="Shi et al., NeurIPS 2015"),
        "persistence": model_facts(reference="the last context frame, repeated"),
    }
    small.manifest["datasets"] = {
        name: dataset_facts(citation="somebody", licence="MNIST: CC BY-SA 3.0")
        for name in small.manifest["names"]["datasets"]
    }
    for seed, value in ((0, 0.50), (1, 0.54)):
        small.add(
            "convlstm",
            "moving_mnist",
            {
                "ssim.range2": {
                    "mean": value, "low": value - 0.02, "high": value + 0.02, "leads": [0.75, 0.25],
                },
                "lpips.alex": {"mean": None, "reason": reason},
            },
            seed=seed,
            official=official,
        )  # fmt: skip
    small.add("persistence", "moving_mnist", {"ssim.range2": {"mean": 0.4}}, official=official)
    store = folder / "store"
    (store / LOCK).parent.mkdir(parents=True, exist_ok=True)
    file = {"bytes": 3, "sha256": "f" * 64}
    lock = {"dataset": "moving_mnist", "release": "synthetic", "source": "synthetic"}
    (store / LOCK).write_text(json.dumps({**lock, "files": {"mnist/train.gz": file}}))
    for cell in small.cells:
        of_cell = {**cell, "model": next(iter(cell["models"]), None)}
        folders = {part: Path(of_cell[part]) for part in STAGE if of_cell[part]}
        paths = {part: str(path.relative_to(store)) for part, path in folders.items()}
        inputs = {
            "data": {"raw": LOCK},
            "model": {"data": paths["data"]},
            "predictions": {part: paths[part] for part in ("data", "model") if part in paths},
            "scores": {part: paths[part] for part in ("data", "predictions")},
        }
        recipes = {
            "data": {
                "dataset": "moving_mnist",
                "source": "official" if official else "synthetic",
            },
            "model": {"fit": "sgd", "seed": cell["key"]["seed"], "options": {}, "train": TRAIN},
        }
        for part, path in folders.items():
            if part == "model":
                (path / "model.pt").write_bytes(f"weights of seed {cell['key']['seed']}".encode())
            write_receipt(
                path,
                STAGE[part],
                path=paths[part],
                inputs=inputs[part],
                recipe=recipes.get(part, {}),
                extras={"parameters": 12345, "log": f"{folder}/logs/train.log"},
                provenance={
                    "host": "node-of-mine", "user": "erika", "slurm_job": "job-4711",
                    "device": "cpu",
                    "python": "3.11.7", "packages": {"torch": "2.13.0"}, "commit": "4b2fd97",
                    "seconds": 90.0,
                },
            )  # fmt: skip
    return built(small)
