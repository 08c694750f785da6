"""Base class and helpers of recurrent networks, which predict frame by frame."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.options import build, require, whole
from stp.models.model import ForecastModel
from stp.models.padding import pad
from stp.models.recompute import run_block
from stp.models.repeated_convolution import transform_kernels, using
from stp.models.scheduled_sampling import ScheduledSampling


def roll(
    following: Callable[[Tensor], Tensor],
    frames: Tensor,
    context: int,
    steps: int,
    shown: Tensor | None = None,
) -> Tensor:
    """Run a recurrent network over frames; output t predicts frame t + 1.

    Args:
        following: function that maps a frame to the next frame, (B, C, H, W) each, and remembers
            the frames that it got (`with_memory`).
        frames: input frames, (B, T, C, H, W).
        context: number of initial frames that are always inputs.
        steps: number of outputs.
        shown: for each clip and each input after the context, whether it is the true frame, bool
            (B, steps - context); otherwise it is the last output. None: all are the last output.

    Returns:
        outputs, (B, steps, C, H, W).
    """
    outputs: list[Tensor] = []
    for t in range(steps):
        if t < context:
            frame = frames[:, t]
        elif shown is None:
            frame = outputs[-1]
        else:
            observed = shown[:, t - context, None, None, None]
            frame = torch.where(observed, frames[:, t], outputs[-1].to(frames.dtype))
        outputs.append(following(frame))
    return torch.stack(outputs, dim=1)


def with_memory(
    network: nn.Module, step: Callable[[Tensor, Any], tuple[Any, Any]], recompute: bool
) -> Callable[[Tensor], Any]:
    """Turn a function of a frame and a memory into a function of a frame that keeps the memory.

    Convolutions are faster on a CPU if their filters are transformed first
    (`stp.models.repeated_convolution`). Where this is so, the filters are transformed once, for all
    frames.

    Args:
        network: network whose convolutions ``step`` applies.
        step: function of a frame and a memory (None at first) that returns a result and the next
            memory, and depends on nothing else.
        recompute: whether to store only frames and memories for the backward pass, and recompute
            the rest of each step.

    Returns:
        a function of a frame that returns the result of ``step``, and keeps the memory for its next
        call.
    """
    kernels, memory = transform_kernels(network), None

    def mapped_step(frame: Tensor, memory: Any) -> tuple[Any, Any]:
        with using(kernels):
            return step(frame, memory)

    def following(frame: Tensor) -> Any:
        nonlocal memory
        result, memory = run_block(mapped_step, frame, memory, again=recompute)
        return result

    return following


class Recurrent(ForecastModel):
    """Base class of networks that predict frame t + 1 from frame t and a memory.

    Subclasses implement `step`.

    Args:
        context: number of context frames in training.
        patch_size: side of the square patches that become channels, pixels.
        scheduled_sampling: options of `ScheduledSampling`, by name, e.g. ``{"stop": 10_000}``;
            others have their defaults. None for all defaults.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self, context: int, patch_size: int, scheduled_sampling: Mapping[str, Any] | None
    ) -> None:
        super().__init__(context)
        require(whole(patch_size, 1), "options.patch_size", patch_size, "a whole number from 1")
        self.patch = patch_size
        self.sampling = build(
            ScheduledSampling, scheduled_sampling or {}, "options.scheduled_sampling"
        )

    def following(self) -> Callable[[Tensor], Tensor]:
        """Make a function that maps a frame to the next frame, (B, C, H, W) each.

        The function remembers the frames that it gets; at first its memory is empty.
        """
        return with_memory(self, self.step, self.recompute)

    @abstractmethod
    def step(self, frame: Tensor, memory: Any) -> tuple[Tensor, Any]:
        """Predict the next frame.

        Args:
            frame: the latest frame, (B, C, H, W).
            memory: what the network remembers of earlier frames; None for the first frame.

        Returns:
            the next frame, (B, C, H, W), and the memory after this step.
        """

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Forecast ``horizon`` frames of B clips from T_in context frames.

        (B, T_in, C, H, W) -> (B, horizon, C, H, W).
        """
        context = frames.shape[1]
        return roll(self.following(), frames, context, context + horizon - 1)[:, -horizon:]

    def outputs(self, clip: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """Predict, in training mode, all frames except the first, and return them with the truth.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration, from 0.

        Returns:
            predicted and observed frames, (B, T_in + T_out - 1, C, H, W) each.
        """
        inputs = clip.shape[1] - self.context - 1
        shown = self.sampling.draw(step, clip.shape[0], inputs).to(clip.device)
        outputs = roll(self.following(), clip, self.context, clip.shape[1] - 1, shown)
        return outputs.float(), clip[:, 1:]


def to_patches(frame: Tensor, patch: int) -> Tensor:
    """Pad frames with zeros, and cut them into patches that become channels.

    Pixel (i, j) of a patch in channel c becomes channel (c * patch + i) * patch + j.

    Args:
        frame: frames to cut, (B, C, H, W).
        patch: side of a patch, pixels.

    Returns:
        patches, (B, C * patch * patch, ceil(H / patch), ceil(W / patch)).
    """
    return F.pixel_unshuffle(pad(frame, patch), patch)


def from_patches(x: Tensor, patch: int, like: Tensor) -> Tensor:
    """Undo `to_patches`, and crop to the height and width of `like`."""
    height, width = like.shape[-2:]
    return F.pixel_shuffle(x, patch)[..., :height, :width]


def equal_widths(where: str, num_hidden: Any, least: int = 1) -> None:
    """Refuse different widths (numbers of channels) of layers that share a memory.

    Args:
        where: name of the option, for errors.
        num_hidden: value of the option, the number of channels of each layer.
        least: minimum number of layers.

    Raises:
        StpError: widths differ, or there are fewer than `least` layers.
    """
    ok = isinstance(num_hidden, (list, tuple)) and all(whole(n, 1) for n in num_hidden)
    ok = ok and len(num_hidden) >= least and len(set(num_hidden)) == 1
    require(ok, where, num_hidden, f"equal whole numbers from 1, at least {least} of them")


def odd(where: str, filter_size: Any) -> None:
    """Refuse a convolution whose kernel has an even side.

    Args:
        where: name of the option, for errors.
        filter_size: value of the option, the side of the kernels in pixels.

    Raises:
        StpError: `filter_size` is not an odd whole number.
    """
    ok = whole(filter_size, 1) and filter_size % 2 == 1
    require(ok, where, filter_size, "an odd whole number")
