"""Checkpoints of TensorFlow, read without it.

The files in ``tensorflow_checkpoint`` were written by TensorFlow 2.21.0. To write them again, in a
throw-away environment (``pip install --target FOLDER tensorflow-cpu==2.21.0``):

    import numpy as np, tensorflow as tf
    layer = "RGB/inception_i3d/Conv3d_2b_1x1/"
    tensors = {
        layer + "conv_3d/w": np.arange(24, dtype=np.float32).reshape(1, 2, 1, 4, 3) / 7,
        layer + "batch_norm/beta": np.arange(3, dtype=np.float32).reshape(1, 1, 1, 1, 3),
        "a/double": np.array([[1e300, -0.0]]),
        "a/flags": np.array([True, False]),
        "a/half": np.array([0.5, 65504], np.float16),
        "global_step": np.int64(-3),
        "nothing": np.zeros((0, 2), np.float32),
        "texts": np.array([b"a", b"text"]),
    }
    tf.raw_ops.SaveV2(
        prefix="small.ckpt", tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
        tensors=[tf.constant(tensor) for tensor in tensors.values()],
    )
"""

import shutil
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from stp.core.errors import StpError
from stp.data.crc32c import masked_crc32c
from stp.metrics.networks import i3d, tensor_bundle
from stp.metrics.networks.i3d import I3D, read_i3d
from stp.metrics.networks.state import read_state
from stp.metrics.networks.tensor_bundle import FOOTER, read_bundle

WRITTEN = Path(__file__).parent / "tensorflow_checkpoint"
LAYER = "RGB/inception_i3d/Conv3d_2b_1x1/"
DATA = "small.ckpt.data-00000-of-00001"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The checkpoint, to be damaged."""
    return shutil.copytree(WRITTEN, tmp_path / "checkpoint")


def test_what_tensorflow_wrote_is_read() -> None:
    for name in ("small.ckpt.index", DATA):
        actual = read_bundle(WRITTEN / name)
        weights = np.arange(24, dtype=np.float32).reshape(1, 2, 1, 4, 3) / 7
        np.testing.assert_array_equal(actual[LAYER + "conv_3d/w"], weights)
        assert actual[LAYER + "batch_norm/beta"].shape == (1, 1, 1, 1, 3)
        assert actual["a/double"].tolist() == [[1e300, 0]] and np.signbit(actual["a/double"][0, 1])
        assert actual["a/flags"].tolist() == [True, False]
        assert actual["a/half"].tolist() == [0.5, 65504] and actual["a/half"].dtype == np.float16
        assert actual["global_step"].tolist() == -3 and actual["nothing"].shape == (0, 2)
        assert len(actual) == 7, "texts are left out"
    state = read_state(WRITTEN / DATA)
    assert state["global_step"].dtype == torch.int64


def packed(index: bytes) -> bytes:
    """The same index with its first block compressed by Snappy, as older writers may have it."""
    numbers, at = [], len(index) - FOOTER
    for _ in range(4):
        value = shift = 0
        while True:
            byte = index[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        numbers.append(value)
    block = index[: numbers[0] - 5]  # entries lie before the first of the other blocks
    small = pa.Codec("snappy").compress(block, asbytes=True) + b"\1"
    blocks = [small + struct.pack("<I", masked_crc32c(small))]

    def number(value: int) -> bytes:
        actual = b""
        while value > 127:
            actual, value = actual + bytes([value & 127 | 128]), value >> 7
        return actual + bytes([value])

    def handle(offset: int, size: int) -> bytes:
        return number(offset) + number(size)

    def table(entries: bytes) -> bytes:
        content = entries + struct.pack("<II", 0, 1) + b"\0"
        return content + struct.pack("<I", masked_crc32c(content))

    value = handle(0, len(small) - 1)
    blocks += [table(b""), table(bytes([0, 1, len(value)]) + b"z" + value)]
    first, second = len(blocks[0]), len(blocks[0]) + len(blocks[1])
    footer = handle(first, len(blocks[1]) - 5) + handle(second, len(blocks[2]) - 5)
    return b"".join(blocks) + footer.ljust(FOOTER - 8, b"\0") + index[-8:]


def test_a_compressed_index_says_the_same(copy: Path) -> None:
    index = copy / "small.ckpt.index"
    index.write_bytes(packed(index.read_bytes()))
    actual, expected = read_bundle(index), read_bundle(WRITTEN / DATA)
    assert actual.keys() == expected.keys()
    assert all(np.array_equal(actual[name], expected[name]) for name in expected)


def test_every_damaged_byte_is_noticed_and_the_file_is_named(copy: Path) -> None:
    index, data = copy / "small.ckpt.index", copy / DATA
    for path in (index, data):
        whole = path.read_bytes()
        damaged = range(len(whole)) if path == data else [*range(len(whole) - FOOTER), -1]
        for at in damaged:
            content = bytearray(whole)
            content[at] ^= 0x55
            path.write_bytes(content)
            try:
                actual = read_bundle(index)
            except StpError as error:
                assert path.name in str(error)
            else:  # texts, and the block behind all that is not read
                expected = read_bundle(WRITTEN / DATA)
                assert all(np.array_equal(actual[name], expected[name]) for name in expected)
                assert path == index or at >= len(whole) - 40
        for length in (0, 7, len(whole) // 2):
            path.write_bytes(whole[:length])
            with pytest.raises(StpError, match=path.name):
                read_bundle(index)
        path.unlink()
        with pytest.raises(StpError, match=r"small\.ckpt"):
            read_bundle(index)
        path.write_bytes(whole)


def named_by_tensorflow(network: I3D) -> dict[str, torch.Tensor]:
    """The 230 tensors of the module of TensorFlow Hub: its names, and its order of axes."""
    places = {"b0": "Branch_0/Conv3d_0a_1x1", "b1a": "Branch_1/Conv3d_0a_1x1"}
    places |= {"b1b": "Branch_1/Conv3d_0b_3x3", "b2a": "Branch_2/Conv3d_0a_1x1"}
    places |= {"b2b": "Branch_2/Conv3d_0b_3x3", "b3b": "Branch_3/Conv3d_0b_1x1"}
    places |= {"logits": "Logits/Conv3d_0c_1x1"}
    kinds = {"conv3d.weight": "conv_3d/w", "conv3d.bias": "conv_3d/b", "bn.bias": "batch_norm/beta"}
    kinds |= {
        f"bn.running_{a}": f"batch_norm/moving_{b}" for a, b in (("mean",) * 2, ("var", "variance"))
    }
    actual = {}
    for key, tensor in network.state_dict().items():
        *layer, group, what = key.split(".")
        kind = kinds.get(f"{group}.{what}")
        if kind is None:
            continue
        place = "/".join(places.get(part, part) for part in layer)
        place = place.replace("Mixed_5b/Branch_2/Conv3d_0b_3x3", "Mixed_5b/Branch_2/Conv3d_0a_3x3")
        if kind == "conv_3d/w":
            tensor = tensor.permute(2, 3, 4, 1, 0)
        elif kind != "conv_3d/b":
            tensor = tensor.reshape(1, 1, 1, 1, -1)
        actual[f"RGB/inception_i3d/{place}/{kind}"] = tensor
    return actual


@pytest.mark.parametrize("classes", i3d.CLASSES)
def test_the_names_of_tensorflow_are_ours(classes: int) -> None:
    torch.manual_seed(0)
    network = I3D(classes)
    theirs = named_by_tensorflow(network)
    assert len(theirs) == 230
    assert theirs["RGB/inception_i3d/Conv3d_1a_7x7/conv_3d/w"].shape == (7, 7, 7, 3, 64)
    assert theirs["RGB/inception_i3d/Logits/Conv3d_0c_1x1/conv_3d/b"].shape == (classes,)
    assert "RGB/inception_i3d/Mixed_5c/Branch_2/Conv3d_0b_3x3/batch_norm/beta" in theirs
    actual = read_i3d(theirs)
    own = network.state_dict()
    assert all(torch.equal(tensor, own[key]) for key, tensor in actual.state_dict().items()
               if not key.endswith(("bn.weight", "num_batches_tracked")))  # fmt: skip
    assert all((t == 1).all() for k, t in actual.state_dict().items() if k.endswith("bn.weight"))
    for name in (LAYER + "conv_3d/w", "RGB/inception_i3d/Logits/Conv3d_0c_1x1/conv_3d/b"):
        with pytest.raises(StpError, match=r"conv3d\.(weight|bias)"):
            read_i3d({key: tensor for key, tensor in theirs.items() if key != name})
    with pytest.raises(StpError, match="step"):
        read_i3d(theirs | {"step": torch.zeros(1)})


@pytest.mark.parametrize("block", [b"", bytes(3), b"\1\0\0\0", b"\0\0\0\0\2\0\0\0"])
def test_a_block_that_is_shorter_than_its_list_of_restarts_is_refused(block: bytes) -> None:
    with pytest.raises(StpError, match="a"):
        list(tensor_bundle._entries(block, Path("a")))
