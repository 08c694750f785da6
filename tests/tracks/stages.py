"""The stages of motion one after the other, each a job as the plan would make it."""

import hashlib
import json
from pathlib import Path
from typing import Any

from conventions import defined

from stp.core.job import Job
from stp.predict import motion as predict
from stp.prepare import tracks as prepare
from stp.score import motion as score
from stp.train import calibrated

CELL = {
    "suite": "atlas", "dimension": "transfer", "model": "m", "variant": "default",
    "trained_on": "eth", "train_subset": "atlas-paper", "tested_on": "eth",
    "subset": "atlas-paper", "setting": "horizon-10", "seed": None,
}  # fmt: skip


class Stages:
    """Folders of a few jobs.

    Args:
        folder: for all of them.
        raw: folder of raw files.
        context, horizon: positions.
    """

    def __init__(self, folder: Path, raw: Path, context: int = 6, horizon: int = 10) -> None:
        self.folder, self.raw, self.context, self.horizon = folder, raw, context, horizon

    def job(self, stage: str, recipe: dict[str, Any], **inputs: Path) -> Job:
        """A job with a new, empty folder."""
        out = self.folder / f"{stage}-{len(list(self.folder.glob(f'{stage}-*')))}"
        out.mkdir(parents=True)
        state = self.folder / "state" / out.name
        return Job(recipe, inputs, out, state, {"raw_roots": [str(self.raw)]})

    def finished(self, job: Job, extras: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
        """Write a receipt."""
        files = {
            path.name: {
                "bytes": path.stat().st_size,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for path in sorted(job.out.iterdir())
        }
        receipt = {"fingerprint": job.out.name, "recipe": job.recipe, "files": files}
        (job.out / "artefact.json").write_text(json.dumps(receipt))
        return job.out, extras

    def prepare(self, names: list[str], **options: Any) -> tuple[Path, dict[str, Any]]:
        """Tracks from raw files."""
        files = {
            name: {
                "bytes": (self.raw / name).stat().st_size,
                "sha256": hashlib.sha256((self.raw / name).read_bytes()).hexdigest(),
            }
            for name in names
        }
        lock = self.folder / "lock.json"
        self.folder.mkdir(parents=True, exist_ok=True)
        lock.write_text(json.dumps({"files": files}))
        recipe = {
            **{"dataset": "eth", "reader": "tracks", "release": "tiny", "source": "sample"},
            **{"context": self.context, "horizon": self.horizon, "options": options},
        }
        job = self.job("data", recipe, raw=lock)
        return self.finished(job, prepare.run(job))

    def calibrate(
        self, data: Path, model: str, trials: int, **more: Any
    ) -> tuple[Path, dict[str, Any]]:
        """Parameters of a predictor, or its weights."""
        recipe = {
            **{"model": model, "options": {}, "context": self.context, "horizon": self.horizon},
            **{"train": {"trials": trials}, "train_subset": "atlas-paper", **more},
        }
        job = self.job("model", recipe, data=data)
        return self.finished(job, calibrated.run(job))

    def predict(
        self,
        data: Path,
        model: str,
        trained: Path | None = None,
        weights: Path | None = None,
        **more: Any,
    ) -> tuple[Path, dict[str, Any]]:
        """Where people go; weights are a lock file."""
        recipe = {
            **{"model": model, "options": {}, "context": self.context},
            **{"lead_times": self.horizon, "split": "atlas-paper", "predict": {}, **more},
        }
        inputs = {"data": data} | ({"model": trained} if trained else {})
        inputs |= {"weights": weights} if weights else {}
        job = self.job("predictions", recipe, **inputs)
        return self.finished(job, predict.run(job))

    def score(
        self, data: Path, predictions: Path, *conventions: str, **more: Any
    ) -> tuple[Path, dict[str, Any]]:
        """How far they are from where they went."""
        recipe = {
            "cell": CELL,
            "conventions": defined(*conventions),
            "split": "atlas-paper",
            **more,
        }
        job = self.job("scores", recipe, data=data, predictions=predictions)
        return self.finished(job, score.run(job))
