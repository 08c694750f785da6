"""A folder of results that has something of everything, for tests of what verbs print."""

from pathlib import Path

import numpy as np
from small_store import PUBLISHED, SmallStore, rebuilt, write_receipt

from stp.score.tables import write_clusters

CLUSTERS = 20
MODELS = {"persistence": (None,), "convlstm": (0, 1), "simvpv2": (0,)}
GAIN = {"persistence": 0.0, "convlstm": 0.04, "simvpv2": 0.05}
LPIPS = {"mean": None, "reason": "the weights of alexnet are not there"}


def scores(model: str, seed: int | None) -> np.ndarray:
    """SSIM of twenty videos; ConvLSTM is surely better than persistence, SimVPv2 hardly than it."""
    clips = 0.7 + 0.1 * np.sin(np.arange(CLUSTERS))
    noise = {"persistence": 0.0, "convlstm": 0.01, "simvpv2": 0.05}[model]
    return clips + GAIN[model] + noise * np.cos(3.0 * np.arange(CLUSTERS)) + 0.002 * (seed or 0)


def build(folder: Path) -> Path:
    """Synthetic digits for three models (ConvLSTM with two seeds), and official streets for one.

    Returns:
        the folder of results, with its database.
    """
    store = SmallStore(folder, PUBLISHED)
    store.manifest["names"]["models"]["simvpv2"] = "SimVPv2"
    store.manifest["names"]["datasets"]["cityscapes"] = "CityScapes"
    for model, seeds in MODELS.items():
        for seed in seeds:
            values = scores(model, seed)
            mean = float(values.mean())
            scored = {
                "ssim.range2": {
                    "mean": mean,
                    "low": mean - 0.03,
                    "high": mean + 0.03,
                    "leads": [mean + 0.01, mean - 0.01],
                },
                "lpips.alex": LPIPS,
            }
            cell = store.add(model, "moving_mnist", scored, seed=seed)
            names = [f"video{n}" for n in range(CLUSTERS)]
            sums = {"ssim.range2": np.repeat(values, 2).reshape(CLUSTERS, 1, 2)}
            write_clusters(
                Path(cell["scores"], "cluster_sums.parquet"),
                names,
                np.ones(CLUSTERS, np.int64),
                sums,
            )
            write_receipt(Path(cell["scores"]), "score")
    store.add("convlstm", "cityscapes", {"ssim.range2": {"mean": 0.9}}, seed=0, official=True)
    rebuilt(store)
    return folder
