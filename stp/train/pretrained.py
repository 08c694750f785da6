"""Pretrained weights (``weights:``), which initialise or replace a training run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from stp.core.errors import StpError
from stp.core.job import Extras, Job
from stp.data.raw_files import RawFiles
from stp.models import weights
from stp.models.create import create
from stp.models.normalisation import Normalisation
from stp.train.order import INITIAL_WEIGHTS, draw
from stp.train.run import fit, load_training, write_history


@dataclass(frozen=True)
class GivenWeights:
    """Pretrained weights, read from a file, and their use in a training run.

    Attributes:
        name: name of the file.
        sha256: checksum of the file.
        use: "initialise" (start a training run from the weights) or "replace" (do not train).
        tensors: weights as a state_dict of the recipe's model.
        normalisation: normalisation of the data on which the weights were trained; None if the file
            has none.
    """

    name: str
    sha256: str
    use: str
    tensors: dict[str, Tensor]
    normalisation: Normalisation | None

    def describe(self) -> dict[str, Any]:
        """Name, checksum and use of the weights, for the receipt."""
        return {"file": Path(self.name).name, "sha256": self.sha256, "use": self.use}


def run(job: Job) -> Extras:
    """Write a trained model, with pretrained weights as the start or the result of its training.

    The output folder gets the files of `stp.train.run`: ``model.pt``, with weights and
    normalisation, and ``history.parquet``, with a row for each epoch (none without a training).

    Args:
        job: job as for `stp.train.run`. In addition, the recipe has ``weights``: "initialise"
            (start from the weights) or "replace" (use them without training). The input ``weights``
            is the lock file that names and identifies the weights file, and the runtime setting
            ``raw_roots`` lists folders that may contain that file.

    Raises:
        StpError: as in `stp.train.run`; or the weights are damaged or belong to another model, or
            snapshots are requested without a training run.
        Interrupted: the job was asked to stop, and has saved its state.
    """
    training = load_training(job)
    recipe, given = training.job.recipe, read(training.job)
    facts = {"weights": given.describe()}
    if given.use == "initialise":
        return {**fit(training, given.tensors), **facts}
    if training.options.snapshots:
        raise StpError(
            f"{recipe['model']}: train.snapshots, although given weights replace the training",
            remedy="remove train.snapshots or weights from the configuration",
        )
    normalisation = given.normalisation or training.normalisation
    weights.save(job.out / weights.MODEL, given.tensors, recipe, normalisation)
    write_history(job, [])
    return {"parameters": sum(p.numel() for p in create(recipe).parameters()), **facts}


def read(job: Job) -> GivenWeights:
    """Read the pretrained weights of a training run.

    The file has to be written by ``torch.save``: a state_dict, or a dict with the key
    ``state_dict``, such as the ``model.pt`` of another training run. `ForecastModel.from_published`
    converts the layout of published weights.

    Args:
        job: job whose recipe describes the model, and whose input ``weights`` is the lock file with
            the path and the checksum of the weights file.

    Raises:
        StpError: the file is missing, its checksum differs from the declared one, it cannot be
            read, or the weights belong to another model.
    """
    raw = RawFiles(job.inputs["weights"], job.runtime["raw_roots"])
    (name,) = raw.names
    path = raw.find(name)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged files raise exceptions of many types
        raise _weights_error(path, str(error).partition("\n")[0] or type(error).__name__) from error
    inner = content.get("state_dict") if isinstance(content, dict) else None
    tensors = inner if isinstance(inner, dict) else content
    if not isinstance(tensors, dict) or not all(isinstance(v, Tensor) for v in tensors.values()):
        raise _weights_error(path, "it holds something else")
    # Tensors that published weights lack are drawn as in a training run.
    torch.manual_seed(int(draw(job.recipe["seed"], INITIAL_WEIGHTS, 0)[0]))
    model = create(job.recipe)
    given = model.from_published(tensors)
    _compare(path, given, model.state_dict(), job.recipe["model"])
    constants = content.get("normalisation") if tensors is inner else None
    return GivenWeights(
        name,
        raw.checksums()[name],
        job.recipe["weights"],
        dict(given),
        Normalisation(**constants) if constants else None,
    )


def _weights_error(path: Path, why: str) -> StpError:
    return StpError(
        f"{path}: these weights cannot be read: {why}",
        expected="a state_dict, alone or under state_dict, as torch.save writes it",
        remedy="save them as torch.save(model.state_dict(), FILE)",
    )


def _compare(path: Path, given: Mapping[str, Tensor], own: dict[str, Tensor], model: str) -> None:
    """Refuse weights whose names or shapes differ from those of the model."""
    missing = [name for name in own if name not in given]
    unknown = [name for name in given if name not in own]
    shapes = {name: tuple(tensor.shape) for name, tensor in own.items()}
    other = [name for name in shapes if name in given and tuple(given[name].shape) != shapes[name]]
    problem = ""
    if missing or unknown:
        problem = "; ".join(
            f"{verb} {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}"
            for verb, names in (("it lacks", missing), ("it has", unknown))
            if names
        )
    elif other:
        problem = f"{other[0]} has the shape {tuple(given[other[0]].shape)}"
    if problem:
        raise StpError(
            f"{path}: weights of another model: {problem}",
            expected=f"those of {model}"
            + (f", {other[0]} of shape {shapes[other[0]]}" if other else ""),
            remedy="correct options or shape so that they are those of the weights' training",
        )
