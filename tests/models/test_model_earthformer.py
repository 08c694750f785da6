"""Earthformer: multiply-adds, cuboids, global vectors, norms as released, precision."""

from pathlib import Path

import pytest
import torch
import yaml
from torch.utils.flop_counter import FlopCounterMode

from stp.models.earthformer import Model
from stp.models.earthformer_layers import (
    TIME,
    WIDTH,
    AxialAttention,
    DistanceBias,
    Position,
)

CONFIG = yaml.safe_load(
    (Path(__file__).parents[2] / "config" / "models" / "earthformer.yaml").read_text()
)
SMALL = {"stem_channels": [8], "heads": 2, "drop": 0.0}


def small(context: int = 3, horizon: int = 2, side: int = 8, **options: object) -> Model:
    torch.manual_seed(0)
    return Model((1, side, side), context, horizon, **{**SMALL, **options}).eval()


def test_published_multiply_adds():
    options = {**CONFIG["options"], **CONFIG["datasets"]["moving_mnist"]["options"]}
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        Model((1, 64, 64), 10, 10, **options)(torch.empty(1, 10, 1, 64, 64), 10)
    # PredBench, table 19: "33.65 G"; it counts the normalisations, too
    assert counter.get_total_flops() / 2e9 == pytest.approx(33.65, rel=0.012)


def axial(axis: int, length: int, most: int, exchange: bool = False) -> AxialAttention:
    torch.manual_seed(0)
    return AxialAttention(4, axis, length, most, 2, 0.0, exchange=exchange).eval()


def changed(layer, x: torch.Tensor, at: tuple[int, ...]) -> torch.Tensor:
    """Positions (T, H, W) of the output that a change of one input position reaches."""
    moved = x.clone()
    moved[0, *at, 0] += 1
    return ((layer(moved) - layer(x)).abs()[0] > 1e-7).any(dim=-1)


def test_lines_longer_than_a_cuboid_are_cut():
    # 5 positions in cuboids of 2: (0, 1), (2, 3), (4)
    layer, x = axial(TIME, 5, 2), torch.randn(1, 5, 1, 1, 4)
    reached = changed(lambda x: layer(x, None)[0], x, (2, 0, 0))
    assert reached.flatten().tolist() == [False, False, True, True, False]


def test_vectors_collect_from_everywhere_and_are_read_everywhere():
    layer, x = axial(WIDTH, 2, 2, exchange=True), torch.randn(1, 2, 3, 2, 4)
    vectors = torch.randn(1, 5, 4)
    before, vectors_before = layer(x, vectors)
    moved = x.clone()
    moved[0, 1, 2, 0, 0] += 1
    after, vectors_after = layer(moved, vectors)
    lines = ((after - before).abs()[0] > 1e-7).any(dim=-1)
    assert lines[1, 2].all(), "its own line"
    assert lines.sum() == 2, "no other"
    assert ((vectors_after - vectors_before).abs() > 1e-7).any(dim=-1).all()
    other = vectors.clone()
    other[0, 0, 0] += 1
    after, vectors_after = layer(x, other)
    assert ((after - before).abs() > 1e-7).any(dim=-1).all()
    assert ((vectors_after - vectors_before).abs() > 1e-7).any(dim=-1).all(), "each other, too"


@pytest.mark.parametrize(
    ("channels", "groups"), [([64], [16]), ([128], [16]), ([24], [8]), ([16, 64, 128], [4, 16, 32])]
)
def test_group_norms_of_stem_and_head_are_as_released(channels, groups):
    """InitialEncoder has 16 groups, InitialStackPatchMergingEncoder groups of four channels."""
    stages = len(channels)
    with torch.device("meta"):
        model = Model(
            (1, 24, 24),
            3,
            2,
            stem_channels=channels,
            stem_scales=[[2, 2]] * stages,
            stem_convs=[2] * stages,
            head_convs=[1] * stages,
        )
    for part, norms in ((model.stem, 2), (model.head, 1)):
        for stage, expected in zip(part, groups, strict=True):
            actual = [m.num_groups for m in stage.modules() if isinstance(m, torch.nn.GroupNorm)]
            assert actual == [expected] * norms


def test_decoder_cuboids_hold_all_lead_times_or_as_many_as_the_context():
    for frames, together in (("horizon", [0, 1, 2, 3]), ("context", [2, 3])):
        model = small(2, 4, decoder_frames=frames)
        attention = model.decoder[0][0].own.attention[0]
        reached = changed(
            lambda x, a=attention: a(x, None)[0], torch.randn(1, 4, 4, 4, 8), (2, 0, 0)
        )
        assert reached[:, 0, 0].nonzero().flatten().tolist() == together


def test_with_vectors_only_their_last_update_does_not_learn():
    stages = {"stem_channels": [4, 8], "stem_scales": [[3, 3], [2, 2]], "global_vectors": 3}
    model = small(side=12, stem_convs=[2, 1], head_convs=[1, 2], **stages).train()
    model.loss(torch.rand(2, 5, 1, 12, 12), 0).backward()
    idle = {n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    last = "encoder.1.0.attention.2.exchange."
    names = "collect_q.weight collect_kv.0.weight collect_kv.1.weight own_qkv.weight "
    assert idle == {last + n for n in (names + "leave.0.weight leave.0.bias").split()}


def test_mixed_precision_is_finite_and_near_float32():
    model, clip = small(global_vectors=2), torch.rand(2, 5, 1, 8, 8)
    exact = model(clip[:, :3], 4)
    with torch.autocast("cpu", torch.bfloat16):
        mixed, loss = model(clip[:, :3], 4), model.train().loss(clip, 0)
    assert loss.dtype == torch.float32
    assert loss.isfinite()
    # A bfloat16 has 8 bits; errors add up over some 50 layers and two blocks: 5.3 % in torch 2.10.
    assert (mixed - exact).abs().mean() < 0.06 * exact.abs().mean()


def test_bias_is_that_of_the_distance():
    bias = DistanceBias(3, 2, 4, 1)
    bias.numbers.data[:, 0] = torch.arange(7.0) - 3  # distances from -3 to 3
    assert bias()[0].tolist() == [[0, -1], [1, 0], [2, 1]]


@pytest.mark.parametrize(("kind", "rows"), [("t+h+w", 3 + 4 + 5), ("t+hw", 3 + 4 * 5)])
def test_every_position_has_an_embedding_of_its_own(kind, rows):
    torch.manual_seed(0)
    position = Position((3, 4, 5), 2, kind)
    assert sum(p.numel() for p in position.parameters()) == rows * 2
    places = position(torch.zeros(1, 3, 4, 5, 2)).flatten(0, 3)
    assert len(places.unique(dim=0)) == 60
