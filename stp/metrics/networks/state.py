"""Readers of weights files.

The formats are a state dict of torch, a TorchScript archive, a checkpoint of TensorFlow, and a
pickle of arrays written by flax.
"""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from stp.core.errors import StpError
from stp.core.file_identity import require
from stp.metrics.networks.pickled_arrays import is_pickled_dict, read_pickled_arrays
from stp.metrics.networks.tensor_bundle import is_bundle, read_bundle

State = dict[str, Tensor]
WRAPPED = ("state_dict", "model", "module")
"""Keys under which a file may contain the state dict beside other data."""
_REMEDY = "`stp list weights --check` compares the file with its entry in config/weights.yaml"


def read_state(path: Path) -> State:
    """Read the tensors of a file onto the CPU; no code of the file is run.

    Only the tensors of a TorchScript archive are read. A state dict may be inside another dict,
    under the key ``state_dict``, ``model`` or ``module``; the prefix ``module.`` of its names is
    removed. Tensors of a TensorFlow checkpoint (``NAME.data-00000-of-00001``, with ``NAME.index``
    beside it) keep their order of axes.

    Returns:
        tensors by name, in the order of the file.

    Raises:
        StpError: the file cannot be read, or contains no tensors.
    """
    if is_bundle(path):
        return {name: torch.from_numpy(array) for name, array in read_bundle(path).items()}
    try:
        if is_pickled_dict(path):
            return read_pickled_arrays(path)
        if _is_torchscript(path):
            state = torch.jit.load(str(path), map_location="cpu").state_dict()
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    except StpError:
        raise
    except Exception as error:  # damage shows in many ways
        raise StpError(
            f"cannot read the weights in {path}: {[*str(error).splitlines(), repr(error)][0]}",
            expected="a file made by torch.save or torch.jit.save",
            remedy=_REMEDY,
        ) from error
    for key in WRAPPED:
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    if not isinstance(state, dict) or not all(isinstance(v, Tensor) for v in state.values()):
        raise StpError(
            f"{path} holds a {type(state).__name__} that is no state dict",
            expected="tensors by name",
            remedy=_REMEDY,
        )
    return {str(name).removeprefix("module."): tensor for name, tensor in state.items()}


def read_verified(path: Path, declared: Mapping[str, Any]) -> tuple[State, str]:
    """Verify the checksum of a weights file, and read its tensors.

    Args:
        declared: checksum of the file, ``sha256`` or ``git_blob_sha1``, and its size in ``bytes``
            if known.

    Returns:
        tensors by name, and the SHA-256 of the file.

    Raises:
        StpError: the checksum differs, or the file cannot be read.
    """
    sha256: str = require(path, declared)["sha256"]
    return read_state(path), sha256


def load(network: torch.nn.Module, state: State, name: str) -> None:
    """Set all tensors of a network to those of a state, in place.

    Raises:
        StpError: tensors are missing, superfluous, or have other shapes.
    """
    own = network.state_dict()
    problems = [f"{key} is missing" for key in own if key not in state]
    problems += [f"{key} is not known" for key in state if key not in own]
    problems += [
        f"{key} has shape {list(state[key].shape)} instead of {list(tensor.shape)}"
        for key, tensor in own.items()
        if key in state and state[key].shape != tensor.shape
    ]
    if problems:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise StpError(
            f"these are no weights of {name}: {', '.join(problems[:3])}{more}",
            expected=f"the {len(own)} tensors of {name}",
            remedy=_REMEDY,
        )
    network.load_state_dict(state)


def _is_torchscript(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith("/constants.pkl") for name in archive.namelist())
