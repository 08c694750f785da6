"""A plan of trainings on a moving bar, with prepared data, and a space to search."""

from pathlib import Path
from typing import Any

from moving_bar import CONTEXT, HORIZON, SIDE, write_data

from stp.core import store
from stp.core.receipts import Receipt
from stp.plan.cells import Plan

SCALE: dict[str, Any] = {
    "scale": "bar",
    "seeds": [0, 1],
    "dimensions": {"short_term": {"datasets": ["bar"], "models": ["persistence", "small_convnet"]}},
    "datasets": {
        "bar": {
            "title": "A moving bar",
            "shape": [1, SIDE, SIDE],
            "context": CONTEXT,
            "horizon": HORIZON,
            "metrics": ["mse.pixel_mean"],
            "release": "synthetic",
            "releases": {"synthetic": {"source": "synthetic", "files": []}},
        }
    },
    "models": {"small_convnet": {"options": {"width": 4, "layers": 1}}},
    "train": {"batch_size": 8, "lr": 0.001, "schedule": "constant", "precision": "float32"},
    "runtime": {"device": "cpu", "checkpoint_every_s": 0},
}
"""22 training clips: 2 steps of 8 clips an epoch."""

SPACE: dict[str, Any] = {
    "budget": {"trials": 6, "epochs": 4, "startup_trials": 2, "warmup_epochs": 1},
    "space": {
        "train.lr": {"low": 0.00001, "high": 0.1, "log": True},
        "options.width": {"choices": [2, 4]},
    },
}


def put_data(plan: Plan, **attrs: Any) -> Path:
    """Put prepared data of the bar into the store of a plan; returns their folder."""
    final: Path = plan.store / plan.data("bar").folder
    made = write_data(final.parent / "made", dataset="bar", **attrs)
    store.publish(made, final, Receipt(fingerprint=final.name, stage="prepare"))
    return final
