"""Patches, rolling and loss of the networks that predict frame after frame."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def conv(before: int, after: int, size: int) -> nn.Conv2d:
    return nn.Conv2d(before, after, size, padding=size // 2, bias=False)


def split(weight: Tensor, names: str, prefix: str) -> dict[str, Tensor]:
    """Cut filters that make several gates at once: one entry per name."""
    parts = weight.chunk(len(names.split()), dim=0)
    return {f"{prefix}.{name}.weight": p for name, p in zip(names.split(), parts, strict=True)}


def rest(state: dict[str, Tensor], *prefixes: str) -> dict[str, Tensor]:
    """What has the same name in both."""
    return {name: value for name, value in state.items() if name.startswith(prefixes)}


class Recurrent(nn.Module):
    """Subclasses have `begin(batch, like)` and `step(frame, memory) -> output, memory`."""

    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        self.context, self.patch, self.sampling = ours.context, ours.patch, ours.sampling

    def patches(self, frame: Tensor) -> Tensor:
        p = self.patch
        frame = F.pad(frame, (0, -frame.shape[3] % p, 0, -frame.shape[2] % p))
        b, c, h, w = frame.shape
        frame = frame.reshape(b, c, h // p, p, w // p, p)
        return frame.permute(0, 1, 3, 5, 2, 4).reshape(b, c * p * p, h // p, w // p)

    def frame(self, x: Tensor, like: Tensor) -> Tensor:
        p = self.patch
        b, c, h, w = x.shape
        x = x.reshape(b, c // p**2, p, p, h, w).permute(0, 1, 4, 2, 5, 3)
        return x.reshape(b, c // p**2, h * p, w * p)[..., : like.shape[2], : like.shape[3]]

    def forward(self, frames: Tensor, horizon: int) -> Tensor:
        memory, outputs = None, []
        for t in range(frames.shape[1] + horizon - 1):
            frame = frames[:, t] if t < frames.shape[1] else outputs[-1]
            output, memory = self.step(frame, memory)
            outputs.append(output)
        return torch.stack(outputs[-horizon:], dim=1)

    def loss(self, clip: Tensor, step: int) -> Tensor:
        inputs = clip.shape[1] - self.context - 1
        shown = self.sampling.draw(step, clip.shape[0], inputs).to(clip.device)
        memory, outputs = None, []
        for t in range(clip.shape[1] - 1):
            frame = clip[:, t]
            if t >= self.context:
                mask = shown[:, t - self.context].to(clip.dtype)[:, None, None, None]
                frame = mask * frame + (1 - mask) * outputs[-1]
            output, memory = self.step(frame, memory)
            outputs.append(output)
        return F.mse_loss(torch.stack(outputs, dim=1), clip[:, 1:])
