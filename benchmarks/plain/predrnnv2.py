"""PredRNNv2: PredRNN with reverse scheduled sampling and decoupled memories."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from plain.predrnn import Model as PredRNN
from plain.predrnn import weights
from plain.recurrent import conv

__all__ = ["Model", "weights"]


class Model(PredRNN):
    def __init__(self, ours: nn.Module) -> None:
        super().__init__(ours)
        self.adapter = conv(self.hidden, self.hidden, 1)
        self.beta = ours.decouple_beta
        self.alike: list[Tensor] | None = None

    def added(self, new_c: Tensor, new_m: Tensor) -> None:
        if self.alike is not None:
            c = F.normalize(self.adapter(new_c).flatten(2), dim=2)
            m = F.normalize(self.adapter(new_m).flatten(2), dim=2)
            self.alike.append((c * m).sum(dim=2).abs().mean())

    def loss(self, clip: Tensor, step: int) -> Tensor:
        batch, length = clip.shape[:2]
        shown = self.sampling.draw(step, batch, self.context - 1, length - 1 - self.context)
        shown = shown.to(clip)
        self.alike, memory, outputs = [], None, []
        for t in range(length - 1):
            frame = clip[:, t]
            if t:
                mask = shown[:, t - 1, None, None, None]
                frame = mask * frame + (1 - mask) * outputs[-1]
            output, memory = self.step(frame, memory)
            outputs.append(output)
        alike, self.alike = torch.stack(self.alike).mean(), None
        return F.mse_loss(torch.stack(outputs, dim=1), clip[:, 1:]) + self.beta * alike
