"""VideoMAE: attention and positions against plain formulas, names of its weights, its clips."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from stp.core.errors import StpError
from stp.core.file_identity import identify
from stp.features.networks import videomae as features
from stp.metrics.networks import videomae
from stp.metrics.networks.random_weights import draw
from stp.metrics.networks.videomae import Attention, VideoMAE, positions, read_videomae
from stp.metrics.perceptual import Weights


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> VideoMAE:
    """Two blocks of eight numbers; patches of 56 x 56 pixels."""
    monkeypatch.setitem(videomae.HEADS, 8, 2)
    network = draw(VideoMAE(8, 2, 2, 12, patch=56), 0)
    assert isinstance(network, VideoMAE)
    return network


def test_positions_by_hand() -> None:
    actual = positions(3, 4)
    assert actual[2].tolist() == pytest.approx(
        [math.sin(2), math.cos(2), math.sin(2 / 100), math.cos(2 / 100)]
    )


def test_attention_by_hand() -> None:
    torch.manual_seed(0)
    layer = Attention(6, 3)
    for name in ("q_bias", "v_bias"):
        torch.nn.init.normal_(getattr(layer, name))
    x = torch.rand(1, 4, 6)
    q, k, v = (x[0] @ part.T for part in layer.qkv.weight.split(6))
    q, v = q + layer.q_bias, v + layer.v_bias
    heads = []
    for h in range(3):
        at = slice(2 * h, 2 * h + 2)
        weights = torch.softmax(q[:, at] @ k[:, at].T / math.sqrt(2), dim=1)
        heads.append(weights @ v[:, at])
    torch.testing.assert_close(layer(x)[0], layer.proj(torch.cat(heads, dim=1)))


def test_a_block_adds_to_what_it_was_given() -> None:
    torch.manual_seed(0)
    block, x = videomae.Block(6, 3, 10), torch.rand(1, 4, 6)
    middle = x + block.attn(block.norm1(x))
    expected = middle + block.mlp.fc2(torch.nn.functional.gelu(block.mlp.fc1(block.norm2(middle))))
    torch.testing.assert_close(block(x), expected)


def test_weights_of_the_authors_are_read_and_others_refused(tiny: VideoMAE, tmp_path: Path) -> None:
    state = tiny.state_dict()
    assert {"blocks.1.attn.q_bias", "blocks.0.mlp.fc2.weight", "fc_norm.bias"} < state.keys()
    assert "blocks.0.attn.qkv.bias" not in state and len(state) == 2 + 2 * 13 + 2
    path = tmp_path / "videomae.pth"
    torch.save({"module": {**state, "head.weight": torch.zeros(3, 8)}}, path)
    weights = Weights(path, {"sha256": identify(path)["sha256"]}, "cpu")
    clips = np.random.default_rng(0).random((2, 16, 1, 9, 7), np.float32)
    look = features.embed(weights, "pooled")
    actual = look(clips)
    assert actual.shape == (2, 8) and actual.dtype == np.float64
    with torch.inference_mode():
        alone = tiny(features.prepare(clips[1:], torch.device("cpu")))
    np.testing.assert_array_equal(actual[1], alone[0].double().numpy())
    assert not np.allclose(look(clips[:, ::-1]), actual), "the order of frames is seen"
    np.testing.assert_array_equal(look(np.repeat(clips, 2, axis=1)[:, :31]), actual)
    with pytest.raises(StpError, match="VideoMAE"):
        read_videomae({"features.0.weight": torch.zeros(3)})
    with pytest.raises(StpError, match=r"blocks\.1\.norm1\.bias"):
        read_videomae({k: v for k, v in state.items() if k != "blocks.1.norm1.bias"})
