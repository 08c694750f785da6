"""Read and write ``model.pt``, the file of a trained model."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from stp.core.errors import StpError
from stp.models.create import RECIPE_KEYS
from stp.models.normalisation import Normalisation

MODEL = "model.pt"
"""Name of the file with the weights of the epoch that validation selected."""
REMEDY = "remove the folder of the model and run the command again: the model is trained anew"


def snapshot_name(update: int) -> str:
    """Path, relative to the folder of a trained model, of the weights after `update` updates."""
    return f"snapshots/update-{update}.pt"


def digest(weights: dict[str, Tensor]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes of all tensors, as hexadecimal digits."""
    total = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        total.update(data.numpy().tobytes())
    return total.hexdigest()


def save(
    path: Path, weights: dict[str, Tensor], recipe: Mapping[str, Any], normalisation: Normalisation
) -> None:
    """Write a trained model; ``torch.load(path, weights_only=True)`` can read it without stp.

    Args:
        path: path of the new file.
        weights: state_dict, on the CPU.
        recipe: all settings of the training; `load` compares some of them.
        normalisation: normalisation of the training data, which is also used to forecast other
            data.
    """
    torch.save(
        {
            "state_dict": weights,
            "recipe": recipe,
            "normalisation": {"offset": normalisation.offset, "scale": normalisation.scale},
            "sha256": digest(weights),
        },
        path,
    )


def load(path: Path, recipe: Mapping[str, Any]) -> tuple[dict[str, Tensor], Normalisation]:
    """Read a trained model, and check that it fits a recipe.

    Args:
        path: path of a file written by `save`.
        recipe: expected recipe. Its settings of the network (keys `RECIPE_KEYS`) must be equal to
            those in the file.

    Returns:
        the state_dict of the model, and the normalisation of its training data.

    Raises:
        StpError: the file is missing or damaged, or contains another model.
    """
    if not path.is_file():
        raise StpError(f"{path} is missing", expected="a trained model", remedy=REMEDY)
    try:
        # Truncated or altered files raise exceptions of many types.
        content = torch.load(path, map_location="cpu", weights_only=True)
        weights, trained = content["state_dict"], content["recipe"]
        normalisation = Normalisation(**content["normalisation"])
        intact = digest(weights) == content["sha256"]
    except Exception as error:
        raise StpError(
            f"{path} is damaged: {str(error).partition('.')[0] or type(error).__name__}",
            expected="a trained model",
            remedy=REMEDY,
        ) from error
    if not intact:
        raise StpError(
            f"{path} is damaged: the weights do not match their checksum",
            expected="a trained model",
            remedy=REMEDY,
        )
    for key in RECIPE_KEYS:
        if trained.get(key) != recipe.get(key):
            raise StpError(
                f"{path} is another model: {key} is {trained.get(key)!r}",
                expected=f"{key} {recipe.get(key)!r}",
                remedy="name the folder of the model with this recipe",
            )
    return weights, normalisation
