"""ConvLSTM (Shi et al., NeurIPS 2015), in the form that PredBench trains.

B batch, T frames, C channels, H height, W width, D hidden channels, p patch size.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from stp.models.padding import pad
from stp.models.scheduled_sampling import ScheduledSampling
from stp.options import build, require, whole


class Cell(nn.Module):
    """One layer: an LSTM whose products are convolutions, without biases.

    Args:
        channels: of the input.
        hidden: of the hidden and of the cell state.
        filter_size: of all convolutions; odd.
        layer_norm: normalise the gates over channels (off in the paper).
    """

    def __init__(self, channels: int, hidden: int, filter_size: int, layer_norm: bool) -> None:
        super().__init__()
        self.hidden = hidden
        padding = filter_size // 2
        self.from_input = nn.Conv2d(channels, 4 * hidden, filter_size, padding=padding, bias=False)
        self.from_hidden = nn.Conv2d(hidden, 4 * hidden, filter_size, padding=padding, bias=False)
        self.norms = nn.ModuleList(
            nn.GroupNorm(1, 4 * hidden) if layer_norm else nn.Identity() for _ in range(2)
        )

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """Advance one step.

        Args:
            x: input, (B, C, H, W).
            h: hidden state, (B, D, H, W).
            c: cell state, (B, D, H, W).

        Returns:
            the new hidden and cell states.
        """
        gates = self.norms[0](self.from_input(x)) + self.norms[1](self.from_hidden(h))
        i, f, g, o = gates.chunk(4, dim=1)
        # A forget gate that starts open lets the gradient reach the first frames.
        c = torch.sigmoid(f + 1.0) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Model(nn.Module):
    """A stack of ConvLSTM cells that predicts the next frame from the current one.

    Frames are cut into p x p patches that become channels; sizes that p does not divide are
    padded, and cropped again. Beyond the context the model reads its own predictions; in
    training, by scheduled sampling, sometimes the true frames.

    Args:
        shape: channels, height and width.
        context: number of context frames.
        horizon: number of frames to predict.
        num_hidden: hidden channels of each layer.
        filter_size: of all convolutions, odd.
        patch_size: p.
        layer_norm: normalise the gates.
        scheduled_sampling: `stop` and `rate`, see stp.models.scheduled_sampling.

    Raises:
        StpError: an option is out of range.
    """

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        num_hidden: Sequence[int] = (128, 128, 128, 128),
        filter_size: int = 5,
        patch_size: int = 4,
        layer_norm: bool = False,
        scheduled_sampling: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        ok = len(num_hidden) > 0 and all(whole(width, 1) for width in num_hidden)
        require(ok, "num_hidden", num_hidden, "one or more whole numbers from 1")
        ok = whole(filter_size, 1) and filter_size % 2 == 1
        require(ok, "filter_size", filter_size, "an odd whole number")
        require(whole(patch_size, 1), "patch_size", patch_size, "a whole number from 1")
        self.context = context
        self.patch = patch_size
        self.sampling = build(ScheduledSampling, scheduled_sampling or {}, "scheduled_sampling")
        channels = shape[0] * patch_size**2
        sizes = [channels, *num_hidden]
        self.cells = nn.ModuleList(
            Cell(sizes[k], sizes[k + 1], filter_size, layer_norm) for k in range(len(num_hidden))
        )
        self.last = nn.Conv2d(num_hidden[-1], channels, 1, bias=False)

    def _unroll(self, patches: Tensor, steps: int, true: Tensor | None = None) -> Tensor:
        """Predict frame 1 to frame `steps`, one per step.

        Args:
            patches: known frames, (B, T, C p p, H / p, W / p).
            steps: number of outputs; output k is the prediction of frame k + 1.
            true: whether to read the true frame in each step after the context, booleans,
                (B, steps - T_in); None to read own predictions after the last known frame.

        Returns:
            (B, steps, C p p, H / p, W / p).
        """
        b, known, _, h, w = patches.shape
        if true is not None:
            known = steps - true.shape[1]
            true = true.reshape(b, -1, 1, 1, 1).to(patches)
        hidden = [patches.new_zeros(b, cell.hidden, h, w) for cell in self.cells]
        cells = [patches.new_zeros(b, cell.hidden, h, w) for cell in self.cells]
        outputs: list[Tensor] = []
        for t in range(steps):
            if t < known:
                x = patches[:, t]
            elif true is None:
                x = outputs[-1]
            else:
                mask = true[:, t - known]
                x = mask * patches[:, t] + (1 - mask) * outputs[-1]
            for k, cell in enumerate(self.cells):
                hidden[k], cells[k] = cell(x, hidden[k], cells[k])
                x = hidden[k]
            outputs.append(self.last(x))
        return torch.stack(outputs, dim=1)

    def _to_frames(self, patches: Tensor, height: int, width: int) -> Tensor:
        """Undo the patches and crop the padding."""
        return F.pixel_shuffle(patches, self.patch)[..., :height, :width]

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        """Predict.

        Args:
            frames: context, (B, T_in, C, H, W).
            horizon: number of frames to predict; may exceed what was trained.

        Returns:
            (B, horizon, C, H, W).
        """
        patches = F.pixel_unshuffle(pad(frames, self.patch), self.patch)
        outputs = self._unroll(patches, frames.shape[1] + horizon - 1)
        return self._to_frames(outputs[:, -horizon:], *frames.shape[-2:])

    def loss(self, clip: Tensor, step: int) -> Tensor:
        """Mean squared error of all outputs, those within the context included.

        Args:
            clip: (B, T_in + T_out, C, H, W).
            step: iteration, from 0.
        """
        patches = F.pixel_unshuffle(pad(clip, self.patch), self.patch)
        steps = clip.shape[1] - 1
        true = self.sampling.draw(step, clip.shape[0], steps - self.context)
        outputs = self._unroll(patches[:, :-1], steps, true)
        return F.mse_loss(self._to_frames(outputs, *clip.shape[-2:]), clip[:, 1:])
