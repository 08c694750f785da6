"""I3D: padding, pools, normalisation and resize against plain formulas; layouts of its ports."""

import math
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

from stp.core.errors import StpError
from stp.metrics.networks import i3d
from stp.metrics.networks.i3d import I3D, Mixed, Pool, Unit, prepare, read_i3d, resize, same_padding
from stp.metrics.networks.state import read_state


@cache
def network() -> I3D:
    """Seeded weights; running statistics as if it had been trained."""
    torch.manual_seed(0)
    made = I3D().eval().requires_grad_(False)
    for layer in made.modules():
        if isinstance(layer, nn.BatchNorm3d):
            layer.running_mean.normal_(0, 0.1)
            layer.running_var.uniform_(0.5, 1.5)
            layer.weight.uniform_(0.8, 1.2)
            layer.bias.normal_(0, 0.1)
    return made


# Pieces


def by_brute_force(x, kernel, stride):
    """Windows of TensorFlow's SAME: ceil(n / s) of them, centred as evenly as possible, a larger
    rest behind; None where a window looks beyond the edge."""
    count = math.ceil(len(x) / stride)
    needed = max((count - 1) * stride + kernel - len(x), 0)
    first = -(needed // 2)
    windows = []
    for i in range(count):
        places = range(first + i * stride, first + i * stride + kernel)
        windows.append([x[p] if 0 <= p < len(x) else None for p in places])
    return windows


@pytest.mark.parametrize("kernel", [1, 2, 3, 7])
@pytest.mark.parametrize("stride", [1, 2])
def test_same_padding_against_brute_force(kernel: int, stride: int) -> None:
    for length in range(1, 20):
        windows = by_brute_force(list(range(length)), kernel, stride)
        front, back = same_padding(length, kernel, stride)
        padded = [None] * front + list(range(length)) + [None] * back
        actual = [padded[i : i + kernel] for i in range(0, len(padded) - kernel + 1, stride)]
        assert actual == windows


@pytest.mark.parametrize("length", [4, 5, 8, 9])
def test_a_convolution_along_time_against_brute_force(length: int) -> None:
    torch.manual_seed(length)
    unit = Unit(1, 1, 7, stride=2).eval()
    with torch.no_grad():
        unit.conv3d.weight.zero_()
        unit.conv3d.weight[0, 0, :, 3, 3] = torch.arange(1.0, 8.0)
    x = torch.rand(length)
    taps = np.arange(1.0, 8.0)
    expected = [
        sum(w * (0.0 if v is None else float(v)) for w, v in zip(taps, window, strict=True))
        for window in by_brute_force(x, 7, 2)
    ]
    # one pixel whose neighbours are zero: 1 = ceil(1 / 2) outputs, centred tap
    actual = unit(x[None, None, :, None, None])[0, 0, :, 0, 0]
    scale = 1 / math.sqrt(1 + 1e-3)  # of the normalisation: variance 1, epsilon 1e-3
    np.testing.assert_allclose(actual.detach(), np.array(expected) * scale, rtol=1e-5)


def test_padding_never_wins_a_maximum() -> None:
    x = -1 - torch.rand(1, 1, 5, 4, 6)
    actual = Pool((3, 3, 3), (2, 2, 2))(x)
    assert actual.shape == (1, 1, 3, 2, 3)
    for t, y, z in np.ndindex(3, 2, 3):
        # 5 frames: one padded before, one behind; 4 and 6 pixels: one behind
        window = x[0, 0, max(0, 2 * t - 1) : 2 * t + 2, 2 * y : 2 * y + 3, 2 * z : 2 * z + 3]
        assert actual[0, 0, t, y, z] == window.max()


def test_batch_normalisation_adds_a_thousandth() -> None:
    unit = Unit(1, 1, 1).eval()
    with torch.no_grad():
        unit.conv3d.weight.fill_(2.0)
        unit.bn.weight.fill_(3.0)
        unit.bn.bias.fill_(0.25)
        unit.bn.running_mean.fill_(1.0)
        unit.bn.running_var.fill_(0.01)
    actual = unit(torch.full((1, 1, 1, 1, 1), 0.75)).item()
    assert actual == pytest.approx(3 * (1.5 - 1) / math.sqrt(0.01 + 1e-3) + 0.25, rel=1e-6)
    assert unit(torch.full((1, 1, 1, 1, 1), -5.0)).item() == 0  # ReLU
    layers = [layer for layer in I3D().modules() if isinstance(layer, nn.BatchNorm3d)]
    assert len(layers) == 57
    assert {layer.eps for layer in layers} == {1e-3}


def test_branches_are_joined_in_order() -> None:
    torch.manual_seed(0)
    block = Mixed(4, 2, 3, 5, 1, 2, 3).eval()
    x = torch.rand(1, 4, 2, 3, 3)
    joined = block(x)
    assert joined.shape[1] == 2 + 5 + 2 + 3
    torch.testing.assert_close(joined[:, :2], block.b0(x))
    torch.testing.assert_close(joined[:, 2:7], block.b1b(block.b1a(x)))
    torch.testing.assert_close(joined[:, 7:9], block.b2b(block.b2a(x)))
    torch.testing.assert_close(joined[:, 9:], block.b3b(block.b3a(x)))


# The whole


def test_it_has_the_size_of_the_published_network() -> None:
    assert sum(p.numel() for p in network().parameters()) == 12_697_264
    assert len(network().state_dict()) == 344


def test_shapes_after_each_layer() -> None:
    """Table of the paper's Figure 3, for clips of 16 frames; computed without numbers."""
    with torch.device("meta"):
        made, x = I3D().eval(), torch.empty(1, 3, 16, 224, 224)
    actual = {}
    for name, layer in made.named_children():
        x = layer(x)
        actual[name] = tuple(x.shape[1:])
    assert actual == {
        "Conv3d_1a_7x7": (64, 8, 112, 112),
        "MaxPool3d_2a_3x3": (64, 8, 56, 56),
        "Conv3d_2b_1x1": (64, 8, 56, 56),
        "Conv3d_2c_3x3": (192, 8, 56, 56),
        "MaxPool3d_3a_3x3": (192, 8, 28, 28),
        "Mixed_3b": (256, 8, 28, 28),
        "Mixed_3c": (480, 8, 28, 28),
        "MaxPool3d_4a_3x3": (480, 4, 14, 14),
        "Mixed_4b": (512, 4, 14, 14),
        "Mixed_4c": (512, 4, 14, 14),
        "Mixed_4d": (512, 4, 14, 14),
        "Mixed_4e": (528, 4, 14, 14),
        "Mixed_4f": (832, 4, 14, 14),
        "MaxPool3d_5a_2x2": (832, 2, 7, 7),
        "Mixed_5b": (832, 2, 7, 7),
        "Mixed_5c": (1024, 2, 7, 7),
        "avg_pool": (1024, 1, 1, 1),
        "logits": (400, 1, 1, 1),
    }


def test_nine_frames_are_enough_and_eight_are_not() -> None:
    assert i3d.SHORTEST == 9
    with torch.device("meta"):
        made = I3D().eval()
        assert made(torch.empty(2, 3, 9, 224, 224)).shape == (2, 400)
        with pytest.raises(RuntimeError):
            made(torch.empty(2, 3, 8, 224, 224))


def test_logits_of_seeded_weights_are_a_mean_over_time() -> None:
    """25 frames leave four time steps, so three pooled ones: their logits are averaged."""
    x = torch.rand((1, 1024, 4, 7, 7), generator=torch.Generator().manual_seed(2))
    pooled, linear = network().avg_pool(x), network().logits.conv3d
    by_hand = torch.stack(
        [linear.weight[:, :, 0, 0, 0] @ pooled[0, :, t, 0, 0] + linear.bias for t in range(3)]
    ).mean(dim=0)
    torch.testing.assert_close(network().logits(pooled).mean(dim=(2, 3, 4))[0], by_hand)


# Resize


@pytest.mark.parametrize(("height", "width"), [(5, 7), (11, 7), (5, 11), (11, 11)])
def test_resize_against_brute_force(height: int, width: int) -> None:
    """out[i] is read at i * old / new, between the two pixels around it."""
    rng = np.random.default_rng(0)
    frame = rng.random((height, width)).astype(np.float32)
    actual = resize(torch.from_numpy(frame), 11).numpy()
    assert actual.shape == (11, 11)
    for i, j in np.ndindex(11, 11):
        y, x = i * height / 11, j * width / 11
        y0, x0 = math.floor(y), math.floor(x)
        y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
        top = frame[y0, x0] + (frame[y0, x1] - frame[y0, x0]) * (x - x0)
        low = frame[y1, x0] + (frame[y1, x1] - frame[y1, x0]) * (x - x0)
        assert actual[i, j] == pytest.approx(top + (low - top) * (y - y0), abs=1e-6)


def test_clips_are_prepared() -> None:
    clips = np.array([-0.5, 0.0, 0.25, 1.0, 2.0], np.float32)[:, None, None, None, None]
    actual = prepare(np.broadcast_to(clips, (5, 3, 1, 4, 6)))
    assert actual.shape == (5, 3, 3, 224, 224)  # frames behind channels, grey three times
    assert [actual[i].unique().tolist() for i in range(5)] == [[-1], [-1], [-0.5], [1], [1]]


def test_colours_stay_in_their_channels() -> None:
    clip = np.zeros((1, 2, 3, 8, 8), np.float32)
    clip[0, 1, 2] = 1  # blue in the second frame
    actual = prepare(clip)
    assert (actual[0, 2, 1] == 1).all()
    assert (actual.sum(dim=(0, 3, 4)) == 224**2 * torch.tensor([[-1, -1], [-1, -1], [-1, 1]])).all()


# Layouts of the ports


def hassony2(name: str) -> str:
    """The name of a tensor in hassony2's port."""
    branches = {"b0": "branch_0", "b1a": "branch_1.0", "b1b": "branch_1.1", "b2a": "branch_2.0"}
    branches |= {"b2b": "branch_2.1", "b3b": "branch_3.1"}
    parts = name.replace("logits.conv3d", "conv3d_0c_1x1.conv3d").split(".")
    parts = [branches.get(part, part) for part in parts]
    parts[0] = parts[0].replace("Conv3d", "conv3d").replace("Mixed", "mixed")
    return ".".join("batch3d" if part == "bn" else part for part in parts)


class Chain(nn.Module):
    """The layers of the network in a row, as another port may name them."""

    def __init__(self, scale: bool) -> None:
        super().__init__()
        units = [layer for layer in network().modules() if isinstance(layer, Unit)]
        self.steps = nn.ModuleList(
            nn.ModuleList([unit.conv3d, norm(unit.bn, scale)]) for unit in units
        )
        self.last = network().logits.conv3d

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def norm(layer: nn.BatchNorm3d, scale: bool) -> nn.Module:
    """The same normalisation, or one without a scale as in TensorFlow Hub."""
    if scale:
        return layer
    made = nn.Module()
    for name in ("bias", "running_mean", "running_var"):
        made.register_buffer(name, getattr(layer, name))
    return made


def test_state_dicts_of_both_ports(tmp_path) -> None:
    own = network().state_dict()
    torch.save(own, tmp_path / "rgb_imagenet.pt")
    torch.save({hassony2(key): value for key, value in own.items()}, tmp_path / "model_rgb.pth")
    assert hassony2("Mixed_3b.b1a.bn.bias") == "mixed_3b.branch_1.0.batch3d.bias"
    for name in ("rgb_imagenet.pt", "model_rgb.pth"):
        actual = read_i3d(read_state(tmp_path / name)).state_dict()
        assert all(torch.equal(actual[key], own[key]) for key in own)
        assert not read_i3d(read_state(tmp_path / name)).training


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # releases are such archives
def test_a_torchscript_archive_gives_the_same_weights(tmp_path) -> None:
    torch.jit.save(torch.jit.script(Chain(scale=True)), tmp_path / "i3d_torchscript.pt")
    state = read_state(tmp_path / "i3d_torchscript.pt")
    assert "steps.0.0.weight" in state
    actual = read_i3d(state).state_dict()
    own = {k: v for k, v in network().state_dict().items() if "num_batches" not in k}
    assert all(torch.equal(actual[key], tensor) for key, tensor in own.items())


def test_a_normalisation_without_scale_has_scale_one() -> None:
    state = {k: v for k, v in network().state_dict().items() if not k.endswith("bn.weight")}
    unnamed = Chain(scale=False).state_dict()
    for given in (state, unnamed):
        actual = read_i3d(given).state_dict()
        assert all((actual[k] == 1).all() for k in actual if k.endswith("bn.weight"))
        torch.testing.assert_close(actual["Mixed_5c.b3b.bn.bias"], state["Mixed_5c.b3b.bn.bias"])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: {k: v for k, v in s.items() if k != "Mixed_4c.b0.conv3d.weight"}, "Mixed_4c.b0"),
        (lambda s: s | {"head.weight": torch.zeros(1)}, "head.weight"),
        (lambda s: s | {"logits.conv3d.bias": torch.zeros(500)}, r"\[500\] .*\[400\]"),
        # 600 classes are those of Kinetics-600, and the weights are not.
        (lambda s: s | {"logits.conv3d.bias": torch.zeros(600)}, r"\[400, 1024"),
        (lambda s: {"features.0.weight": torch.zeros(3)}, "tensors"),
        (lambda s: dict(zip(map(str, range(344)), reversed(s.values()), strict=True)), "shape"),
    ],
)
def test_other_weights_are_refused(change, said: str) -> None:
    with pytest.raises(StpError, match=said):
        read_i3d(change(network().state_dict()))


def test_a_file_that_is_no_state_dict_is_refused(tmp_path) -> None:
    (tmp_path / "a.pt").write_bytes(b"weights")
    torch.save([1, 2], tmp_path / "b.pt")
    torch.save(torch.nn.Linear(1, 1), tmp_path / "c.pt")  # code, which is not run
    for name in ("a.pt", "b.pt", "c.pt", "absent.pt"):
        with pytest.raises(StpError, match=name):
            read_state(tmp_path / name)
