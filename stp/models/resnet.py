"""ResNet of ChaosBench (Nathaniel et al. 2024, https://arxiv.org/abs/2402.00712, E.2).

The encoder is ResNet-50 (He et al. 2015, https://arxiv.org/abs/1512.03385), with strides in the 3 x
3 convolutions as in timm and torchvision, and without pretraining. The decoder consists of
transposed convolutions up to the original grid. There are no skip connections between them
(leap-stc/ChaosBench, chaosbench/models/cnn.py).
"""

from collections.abc import Sequence
from functools import partial

import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import require, whole
from stp.models.halving import check_channels, doubling, halve_overlapping, resize
from stp.models.one_step import OneStep

WIDER = 4
"""Output channels of a block as a multiple of its inner channels."""
LEAKY = partial(nn.LeakyReLU, 0.15)


class Bottleneck(nn.Module):
    """Residual block of 1 x 1, 3 x 3 and 1 x 1 convolutions.

    Args:
        before: channels of the input.
        width: number of hidden channels; the output has four times as many.
        stride: stride of the 3 x 3 convolution.
    """

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        after = WIDER * width
        self.enter = nn.Conv2d(before, width, 1, bias=False)
        self.enter_norm = nn.BatchNorm2d(width)
        self.inner = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.inner_norm = nn.BatchNorm2d(width)
        self.leave = nn.Conv2d(width, after, 1, bias=False)
        self.leave_norm = nn.BatchNorm2d(after)
        # A block passes on its input at first (timm, zero_init_last).
        nn.init.zeros_(self.leave_norm.weight)
        self.past: nn.Module = nn.Identity()
        if stride > 1 or before != after:
            fitted = nn.Conv2d(before, after, 1, stride, bias=False)
            self.past = nn.Sequential(fitted, nn.BatchNorm2d(after))

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, before, H, W) to (B, 4 * width, H / stride, W / stride), rounded up."""
        y = F.relu(self.enter_norm(self.enter(x)))
        y = F.relu(self.inner_norm(self.inner(y)))
        return F.relu(self.leave_norm(self.leave(y)) + self.past(x))


class Encoder(nn.Module):
    """ResNet without its head, which maps frames to features.

    With four stages, (B, C, H, W) -> (B, 32 * width, H / 32, W / 32), sides rounded up.

    Args:
        channels: number C of input channels.
        blocks: number of blocks of each stage; H and W are halved by each stage except the first,
            and by each of the two layers before the stages.
        width: number of hidden channels of blocks in the first stage; doubled in each later stage.
    """

    def __init__(self, channels: int, blocks: Sequence[int], width: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(channels, width, 7, stride=2, padding=3, bias=False)
        self.enter_norm = nn.BatchNorm2d(width)
        before = width
        layers: list[nn.Module] = []
        for stage, count in enumerate(blocks):
            for block in range(count):
                stride = 2 if stage and not block else 1
                layers.append(Bottleneck(before, width * 2**stage, stride))
                before = WIDER * width * 2**stage
        self.blocks = nn.Sequential(*layers)
        self.channels = before
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Encode frames.

        Args:
            x: frames, (B, channels, H, W).

        Returns:
            features; with four stages, (B, 32 * width, H / 32, W / 32), where width is the argument
            of the class, and sides are rounded up.
        """
        x = halve_overlapping(F.relu(self.enter_norm(self.enter(x))))
        maps: Tensor = self.blocks(x)
        return maps


class Model(OneStep):
    """Network with a ResNet as encoder and five transposed convolutions as decoder.

    Args:
        shape: (C, H, W) of a frame, of any size; the output is interpolated to this size.
        context: number of context frames, stacked as channels.
        horizon: number of lead times in training; forecasts can have any number.
        blocks: number of blocks of each stage of the encoder; (3, 4, 6, 3) is ResNet-50.
        width: number of hidden channels of blocks in the first stage.
        channels: number of channels of each layer of the decoder; each layer doubles H and W.
        predicts: output of the network: ``state``, the next frame, or ``change``, its difference
            from the latest frame.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        blocks: Sequence[int] = (3, 4, 6, 3),
        width: int = 64,
        channels: Sequence[int] = (1024, 512, 256, 128, 64),
        predicts: str = "state",
    ) -> None:
        super().__init__(context, predicts)
        ok = isinstance(blocks, (list, tuple)) and len(blocks) > 0
        ok = ok and all(whole(n, 1) for n in blocks)
        require(ok, "options.blocks", blocks, "a list of whole numbers from 1")
        require(whole(width, 1), "options.width", width, "a whole number from 1")
        check_channels(channels)
        self.encoder = Encoder(context * shape[0], blocks, width)
        widths = [self.encoder.channels, *channels]
        self.decoder = nn.Sequential(
            *[doubling(a, b, LEAKY) for a, b in zip(widths, channels, strict=False)]
        )
        self.leave = nn.Conv2d(channels[-1], shape[0], 1)

    def following(self, frames: Tensor) -> Tensor:
        """Context frames (B, T_in * C, H, W) -> next frame (B, C, H, W)."""
        outputs: Tensor = self.leave(resize(self.decoder(self.encoder(frames)), frames))
        return outputs
