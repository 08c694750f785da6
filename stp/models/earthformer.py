"""Earthformer: a transformer with attention within cuboids of space and time.

Gao et al. 2022, "Earthformer: Exploring Space-Time Transformers for Earth System Forecasting",
https://arxiv.org/abs/2207.05833. Convolutions reduce the resolution of frames, an encoder with two
or more resolutions maps them to memories, a decoder with a learned query for each forecast frame
and position attends to the memories, and convolutions map its output to frames. A cuboid is a block
of positions in time, height and width; positions attend to others in their own cuboid. The cuboids
are those that the paper found best and PredBench uses: axial in self-attention (all of T, then all
of H, then all of W), and columns of 1 x 1 x T in cross-attention.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from stp.core.options import require, whole
from stp.models.earthformer_layers import (
    Convolutions,
    PatchMerge,
    Position,
    ReadBlock,
    SelfBlock,
    Upsample,
    linear,
    table,
)
from stp.models.model import ForecastModel
from stp.models.padding import pad
from stp.models.recompute import run_block


class Model(ForecastModel):
    """Forecasts T_out frames at once from T_in context frames.

    Frames are padded with zeros, below and to the right, to the multiples that patches and
    resolutions need, and the forecast is cropped. Each position attends to others in its own
    cuboid. In self-attention, a cuboid is a line of positions along time, height or width.

    Some parameters have no influence on the forecast, so they are never trained. They exist because
    the authors' network has them and counts them in its published size. They are the biases of the
    cross-attention for distances in time that never occur (`CrossAttention`) and, with global
    vectors, the layers of the last update of these vectors, whose result nothing reads.

    Args:
        shape: (C, H, W) of a frame.
        context: number of context frames T_in.
        horizon: number of lead times T_out of one pass. Longer forecasts are made in blocks, each
            from the latest T_in observed or predicted frames; shorter ones use the first lead times
            of a block.
        enc_depth: number of encoder blocks at each resolution; from one resolution to the next, H
            and W are halved and channels are doubled.
        dec_depth: number of decoder blocks at each resolution.
        stem_channels: channels of each convolutional stage before the encoder; the last is the
            width of the encoder's first resolution ("base units"). The stages after the decoder
            mirror them.
        stem_scales: height and width of the patches that are merged into one position after each
            stage.
        stem_convs: number of convolutions of each stage.
        head_convs: number of convolutions of each mirrored stage, in the order of `stem_channels`.
        position: kind of position embedding, ``t+h+w`` or ``t+hw``.
        global_vectors: number of global vectors, which attend to the whole clip; 0 for none.
        decoder_frames: maximum number of frames of a cuboid along time in the decoder's
            self-attention. ``horizon``: all T_out, so that attention covers the whole axis, as in
            the encoder. ``context``: T_in, as in the releases of the authors and of PredBench; if
            T_out > T_in, a forecast frame then attends only to frames in its own group of T_in.
        heads: number of attention heads; must divide all widths.
        drop: dropout probability everywhere.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        enc_depth: Sequence[int] = (1, 1),
        dec_depth: Sequence[int] = (1, 1),
        stem_channels: Sequence[int] = (64,),
        stem_scales: Sequence[Sequence[int]] = ((2, 2),),
        stem_convs: Sequence[int] = (2,),
        head_convs: Sequence[int] = (1,),
        position: str = "t+h+w",
        global_vectors: int = 0,
        decoder_frames: str = "horizon",
        heads: int = 4,
        drop: float = 0.1,
    ) -> None:
        super().__init__(context)
        require(whole(heads, 1), "options.heads", heads, "a whole number from 1")
        _check_numbers("enc_depth", enc_depth, 1)
        _check_numbers("dec_depth", dec_depth, 1, len(enc_depth))
        _check_numbers("stem_channels", stem_channels, 1)
        _check_numbers("stem_convs", stem_convs, 1, len(stem_channels))
        _check_numbers("head_convs", head_convs, 1, len(stem_channels))
        # Group norms of several stages have groups of four channels.
        ok = all(n % 4 == 0 for n in stem_channels) and stem_channels[-1] % heads == 0
        expected = f"multiples of 4, the last also of heads ({heads})"
        require(ok, "options.stem_channels", stem_channels, expected)
        ok = isinstance(stem_scales, (list, tuple)) and len(stem_scales) == len(stem_channels)
        ok = ok and all(
            isinstance(s, (list, tuple)) and len(s) == 2 and all(whole(n, 1) for n in s)
            for s in stem_scales
        )
        expected = f"{len(stem_channels)} pairs of whole numbers from 1"
        require(ok, "options.stem_scales", stem_scales, expected)
        require(position in ("t+h+w", "t+hw"), "options.position", position, "t+h+w or t+hw")
        ok = whole(global_vectors, 0)
        require(ok, "options.global_vectors", global_vectors, "a whole number from 0")
        ok = decoder_frames in ("horizon", "context")
        require(ok, "options.decoder_frames", decoder_frames, "horizon or context")
        ok = isinstance(drop, (int, float)) and 0 <= drop < 1
        require(ok, "options.drop", drop, "a number from 0, below 1")

        self.horizon = horizon
        levels = len(enc_depth)
        scales = [(int(tall), int(wide)) for tall, wide in stem_scales]
        tall, wide = (math.prod(scale[side] for scale in scales) for side in (0, 1))
        self.multiple = math.lcm(tall, wide) * 2 ** (levels - 1)
        height, width = (-(-side // self.multiple) * self.multiple for side in shape[1:])
        sizes = [(height // tall // 2**level, width // wide // 2**level) for level in range(levels)]
        widths = [stem_channels[-1] * 2**level for level in range(levels)]

        self.stem = nn.ModuleList()
        self.head = nn.ModuleList()  # mirrors the stem: walked backwards
        for stage, (before, after) in enumerate(pairwise([shape[0], *stem_channels])):
            # 16 groups in a single stage, as released, where its channels are a multiple of 16.
            groups = math.gcd(16, after) if len(stem_channels) == 1 else after // 4
            convs = Convolutions(before, after, stem_convs[stage], groups)
            self.stem.append(nn.Sequential(convs, PatchMerge(after, after, scales[stage])))
            deeper = stem_channels[min(stage + 1, len(stem_channels) - 1)]
            convs = Convolutions(deeper, after, head_convs[stage], groups)
            self.head.append(nn.Sequential(Upsample(deeper, deeper, scales[stage]), convs))
        self.readout = linear(stem_channels[0], shape[0], bias=True)

        self.vectors = table(global_vectors, widths[0]) if global_vectors else None
        self.enc_position = Position([context, *sizes[0]], widths[0], position)
        self.dec_position = Position([horizon, *sizes[-1]], widths[-1], position)
        self.query = linear(widths[-1], widths[-1], bias=True)
        self.encoder, self.decoder = nn.ModuleList(), nn.ModuleList()
        frames = horizon if decoder_frames == "horizon" else context
        for level in range(levels):
            long, short = [context, *sizes[level]], [horizon, *sizes[level]]
            encoder = [
                SelfBlock(long, context, widths[level], heads, drop, exchange=global_vectors > 0)
                for _ in range(enc_depth[level])
            ]
            decoder = [
                ReadBlock(
                    short,
                    frames,
                    context,
                    widths[level],
                    heads,
                    drop,
                    first=level == levels - 1 and block == 0,
                )
                for block in range(dec_depth[level])
            ]
            self.encoder.append(nn.ModuleList(encoder))
            self.decoder.append(nn.ModuleList(decoder))
        self.down, self.up, self.down_vectors = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for before, after in pairwise(widths):
            self.down.append(PatchMerge(before, after, (2, 2)))
            self.up.append(Upsample(after, before, (2, 2)))
            if global_vectors:
                # torch's initial weights: the release's initialiser does not reach this list
                self.down_vectors.append(nn.Linear(before, after))

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        frames_so_far = frames
        while frames_so_far.shape[1] < self.context + horizon:
            block = self._block(frames_so_far[:, -self.context :])
            frames_so_far = torch.cat([frames_so_far, block.to(frames_so_far.dtype)], dim=1)
        return frames_so_far[:, self.context : self.context + horizon]

    def _block(self, frames: Tensor) -> Tensor:
        """Context (B, T_in, C, H, W) -> next T_out frames (B, T_out, C, H, W)."""
        height, width = frames.shape[-2:]
        x = pad(frames, self.multiple).movedim(2, -1)
        for stage in self.stem:
            x = run_block(stage, x, again=self.recompute)
        x = self._decode(self._encode(self.enc_position(x)))
        for stage in reversed(self.head):
            x = run_block(stage, x, again=self.recompute)
        return self.readout(x).movedim(-1, 2)[..., :height, :width]

    def _encode(self, x: Tensor) -> list[Tensor]:
        """Output of the convolutions -> memory of each resolution, (B, T_in, H', W', C')."""
        vectors = None if self.vectors is None else self.vectors.expand(len(x), -1, -1)
        memories = []
        for level in range(len(self.encoder)):
            if level:
                x = self.down[level - 1](x)
                if vectors is not None:
                    vectors = self.down_vectors[level - 1](vectors)
            for block in self.encoder[level]:  # type: ignore[attr-defined]
                x, vectors = run_block(block, x, vectors, again=self.recompute)
            memories.append(x)
        return memories

    def _decode(self, memories: list[Tensor]) -> Tensor:
        """Memories -> (B, T_out, H', W', C') at the highest resolution."""
        deepest = memories[-1]
        queries = deepest.new_zeros(1, self.horizon, *deepest.shape[2:])
        x = self.query(self.dec_position(queries)).expand(len(deepest), -1, -1, -1, -1)
        for level in reversed(range(len(memories))):
            for block in self.decoder[level]:  # type: ignore[attr-defined]
                x = run_block(block, x, memories[level], again=self.recompute)
            if level:
                x = self.up[level - 1](x)
        return x


def _check_numbers(option: str, value: Sequence[int], least: int, length: int = 0) -> None:
    ok = isinstance(value, (list, tuple)) and all(whole(n, least) for n in value)
    ok = ok and (len(value) == length if length else len(value) > 0)
    expected = f"{length or 'one or more'} whole numbers from {least}, as a list"
    require(ok, f"options.{option}", value, expected)
