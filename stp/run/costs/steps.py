"""Speeds of networks on this machine: durations of steps measured by `stp plan --measure`."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from stp.core.disk import write_text, writing
from stp.core.fingerprint import digest
from stp.options.train import TrainOptions
from stp.plan import named_class
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.costs.durations import Durations


@dataclass(frozen=True)
class Step:
    """Measured durations of a network on random frames, in seconds per clip.

    Attributes:
        train_s: duration of a training step.
        validate_s: duration of one evaluation of the network without gradients, as in a validation.
        forecast_s: duration of a complete forecast over the horizon of the training.
        batch: number of clips in a batch.
        device: name of the device.
        date: date of the measurement, as YYYY-MM-DD.
    """

    train_s: float
    validate_s: float
    forecast_s: float
    batch: int
    device: str
    date: str


class Steps:
    """File with the measured durations of networks' steps, used by estimates only.

    Args:
        plan: the plan whose store has the file, ``state/steps.json``.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.path = plan.store / "state" / "steps.json"
        self._known = self._read()

    def of(self, artefact: Artefact) -> Step | None:
        """Find the measured durations of the network that a job trains or applies.

        Args:
            artefact: result of the job: a trained model, or what is made with one, such as
                forecasts.

        Returns:
            durations of a training step, a validation and a forecast of this network; None if they
            were not measured, or the job has no network.
        """
        training = find_training(artefact)
        return None if training is None else self._known.get(self._key(training))

    def add(self, training: Artefact, step: Step) -> None:
        """Store the measured durations of a network, for all datasets with the same shape.

        Args:
            training: artefact of the trained network.
            step: the measured durations.

        Raises:
            StpError: the store cannot be written.
        """
        self._known = {**self._read(), self._key(training): step}
        text = {key: asdict(step) for key, step in self._known.items()}
        with writing(self.path):
            write_text(self.path, json.dumps(text, indent=1) + "\n")

    def _read(self) -> dict[str, Step]:
        """All steps; empty if the file is damaged, or of another version."""
        try:
            return {key: Step(**step) for key, step in json.loads(self.path.read_bytes()).items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _key(self, training: Artefact) -> str:
        """Hash of everything, except the machine, that determines the duration of a step."""
        recipe = training.recipe
        outside: dict[str, Any] = {}
        module = f"{training.kind.models}.{recipe['model']}"
        if "class" in recipe:
            module = named_class.module_of(recipe["class"])
            outside = {key: recipe[key] for key in ("class", "reads") if key in recipe}
        return digest(
            {
                **outside,
                **{key: recipe[key] for key in ("model", "options", "shape", "context", "horizon")},
                "train": recipe["train"],
                "code": training.code.modules.get(module, ""),
                "batch": batch_of(self.plan, training),
                "device": device_of(self.plan, training),
            }
        )


def find_training(artefact: Artefact) -> Artefact | None:
    """The trained network that an artefact is, or was made with; None for other artefacts."""
    if artefact.kind.is_light:
        return None
    for other in (artefact, *artefact.inputs.values()):
        if isinstance(other, Artefact) and other.stage == "train" and other.recipe["fit"] == "sgd":
            return other
    return None


def batch_of(plan: Plan, training: Artefact) -> int:
    """Number of clips that a training run computes at once (micro-batch)."""
    batch = int(training.recipe["train"].get("batch_size", TrainOptions.batch_size))
    return min(batch, int(plan.config.scale.runtime.get("micro_batch") or batch))


def device_of(plan: Plan, training: Artefact) -> str:
    """The device of a training run: auto, cpu or cuda."""
    device = str(plan.config.scale.runtime.get("device", "auto"))
    return "cuda" if plan.gpus(training) else device


def unmeasured_trainings(plan: Plan, folders: set[str] | None = None) -> Iterator[Artefact]:
    """Yield one training run of each network whose speed neither a job nor a measurement shows.

    Args:
        plan: the plan.
        folders: folders of the artefacts to consider; None for all artefacts of the plan.
    """
    rates = Durations(plan.store / "state" / "durations.jsonl").rates()
    steps, yielded = Steps(plan), set()
    for folder, artefact in plan.artefacts.items():
        training = find_training(artefact)
        is_done = (plan.store / artefact.receipt).exists()
        if training is None or is_done or (folders is not None and folder not in folders):
            continue
        key = (artefact.work, plan.gpus(artefact), plan.threads(artefact) * plan.ranks(artefact))
        if key in rates or steps.of(training) is not None or steps._key(training) in yielded:
            continue
        yielded.add(steps._key(training))
        yield training
