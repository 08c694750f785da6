"""How fast networks are on a machine: durations of single steps that `stp plan --measure` took."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from stp.core.disk import write_text, writing
from stp.core.fingerprint import digest
from stp.options.train import TrainOptions
from stp.plan import named_class
from stp.plan.artefacts import Artefact
from stp.plan.cells import Plan
from stp.run.costs.durations import Durations


@dataclass(frozen=True)
class Step:
    """Durations of a network on random frames, in seconds for each clip.

    Attributes:
        train_s: of a training step.
        validate_s: of an evaluation of the network, as in a validation.
        forecast_s: of a whole forecast of the horizon of the training.
        batch: clips at once.
        device: where that was measured.
        date: when, as YYYY-MM-DD.
    """

    train_s: float
    validate_s: float
    forecast_s: float
    batch: int
    device: str
    date: str


class Steps:
    """The measured steps of a store, for estimates alone.

    Args:
        plan: the plan of the store.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.path = plan.store / "state" / "steps.json"
        self._known = self._read()

    def of(self, artefact: Artefact) -> Step | None:
        """The step of a network that is trained, or forecasts; None if nobody has measured it."""
        training = trained(artefact)
        return None if training is None else self._known.get(self._key(training))

    def add(self, training: Artefact, step: Step) -> None:
        """Remember a step of a network, whatever its dataset is called.

        Raises:
            StpError: the store cannot be written.
        """
        self._known = {**self._read(), self._key(training): step}
        text = {key: asdict(one) for key, one in self._known.items()}
        with writing(self.path):
            write_text(self.path, json.dumps(text, indent=1) + "\n")

    def _read(self) -> dict[str, Step]:
        """All steps; none where the file is torn, or of another version."""
        try:
            return {key: Step(**one) for key, one in json.loads(self.path.read_bytes()).items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def _key(self, training: Artefact) -> str:
        """Everything that the duration of a step depends on, apart from the machine."""
        recipe, outside = training.recipe, {}
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


def trained(artefact: Artefact) -> Artefact | None:
    """The training behind an artefact of a network: itself, or what a forecast is made with."""
    if artefact.kind.is_light:
        return None
    found = [artefact, *artefact.inputs.values()]
    trainings = (one for one in found if isinstance(one, Artefact) and one.stage == "train")
    return next((one for one in trainings if one.recipe["fit"] == "sgd"), None)


def batch_of(plan: Plan, training: Artefact) -> int:
    """Clips that a training computes at once."""
    batch = int(training.recipe["train"].get("batch_size", TrainOptions.batch_size))
    return min(batch, int(plan.config.scale.runtime.get("micro_batch") or batch))


def device_of(plan: Plan, training: Artefact) -> str:
    """Where it computes: auto, cpu or cuda."""
    wanted = str(plan.config.scale.runtime.get("device", "auto"))
    return "cuda" if plan.gpus(training) else wanted


def unmeasured(plan: Plan, folders: set[str] | None = None) -> Iterator[Artefact]:
    """A training of each network whose speed neither jobs nor steps of this store tell.

    Args:
        plan: the plan.
        folders: of artefacts that count; all of the plan unless given.
    """
    rates = Durations(plan.store / "state" / "durations.jsonl").rates()
    steps, seen = Steps(plan), set()
    for folder, artefact in plan.artefacts.items():
        training = trained(artefact)
        is_done = (plan.store / artefact.receipt).exists()
        if training is None or is_done or (folders is not None and folder not in folders):
            continue
        key = (artefact.work, plan.gpus(artefact), plan.threads(artefact) * plan.ranks(artefact))
        if key in rates or steps.of(training) is not None or steps._key(training) in seen:
            continue
        seen.add(steps._key(training))
        yield training
