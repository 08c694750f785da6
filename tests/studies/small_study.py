"""A study of two small video datasets and three models, with real prepared data and scores."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from small_store import bare_cell, bare_manifest, cell_key, convention_facts, table_column
from toy_scored import write_scored

MODELS = {"earthformer": "Earthformer", "mcvd": "MCVD", "persistence": "Persistence"}
NOISE = {"earthformer": 0.02, "mcvd": 0.1, "persistence": 0.3}
"""How far the predictions of each model are off: the first is the best by any metric."""
CONTEXT, LEADS, CLIPS = 2, 3, 24
SIZES = {"bair": (3, 12, 20), "kth": (1, 16, 16)}
CONVENTIONS = {
    "ssim.range2": True,
    "psnr.per_frame": True,
    "mse.pixel_mean": False,
    "lpips.alex": False,
}
STUDY = """
item: best_of
question: Which is best?
consent: I take part.
age_groups: [18-24, 25-34]
genders: [female, male]
seed: 7
clips: {bair: 6, kth: 6}
models: [earthformer, mcvd, persistence]
"""


def predicted_of(observed: np.ndarray, model: str) -> np.ndarray:
    rng = np.random.default_rng(len(model))
    noise = rng.normal(0, NOISE[model], observed.shape)
    return np.clip(observed + noise, 0, 1).astype(np.float32)


def write_study(folder: Path, *, score: bool = False) -> Path:
    """Write data, predictions and the manifest; returns the manifest's path."""
    rng = np.random.default_rng(0)
    cells = []
    for dataset, size in SIZES.items():
        clips = rng.integers(0, 256, (CLIPS, CONTEXT + LEADS, *size), dtype=np.uint8)
        observed = clips[:, CONTEXT:] / 255
        videos = [f"video{n // 4}" for n in range(CLIPS)]
        for model in MODELS:
            root = folder / dataset / model
            root.mkdir(parents=True)
            predicted = predicted_of(observed, model)
            scored = write_scored(root, clips, predicted, clusters=videos)
            if score:
                scored.run(*(name for name in CONVENTIONS if name != "lpips.alex"), out="scores")
            cells.append(cell(dataset, model, root))
    path = folder / "short_term.json"
    path.write_text(json.dumps(manifest(folder, cells)))
    return path


def cell(dataset: str, model: str, root: Path) -> dict[str, Any]:
    key = cell_key(model, dataset, setting="horizon-3", seed=0)
    folders = {name: str(root / name) for name in ("data", "predictions", "scores")}
    return bare_cell(key, release="synthetic", **folders)


def manifest(folder: Path, cells: list[dict[str, Any]]) -> dict[str, Any]:
    return bare_manifest(
        folder,
        cells,
        unavailable={"lpips.alex": "the weights of alexnet are not there"},
        conventions={name: convention_facts(up) for name, up in CONVENTIONS.items()},
        tables={
            "short_term": {
                "columns": {name: [table_column("SSIM", "ssim.range2")] for name in SIZES}
            }
        },
        names={"models": MODELS, "datasets": {"bair": "BAIR", "kth": "KTH"}},
    )


class Paths:
    """Where a study lies.

    Args:
        folder: of all its files.
        manifest: of data and predictions that exist; they are written unless given.
        score: whether to score them.
    """

    def __init__(self, folder: Path, *, manifest: Path | None = None, score: bool = False) -> None:
        self.folder = folder
        self.manifest = manifest or write_study(folder / "store", score=score)
        self.study = folder / "human_study.yaml"
        self.study.write_text(STUDY)
        self.page = folder / "out" / "questionnaire.html"
        self.key = folder / "out" / "key.json"
        self.answers = folder / "out" / "answers"

    def change_study(self, old: str, new: str) -> None:
        text = self.study.read_text()
        assert old in text
        self.study.write_text(text.replace(old, new))
