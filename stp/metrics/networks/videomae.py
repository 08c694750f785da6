"""VideoMAE: a vision transformer of clips (Tong et al. 2022, arXiv 2203.12602; Wang et al. 2023).

This is the authors' fine-tuned encoder, whose features Ge et al. (2024, arXiv 2404.12391) compare:
tokens are patches of two frames with sinusoidal position codes, blocks normalise before the
attention, and the mean of all tokens is normalised last. Depth and widths follow from the weights,
which have the authors' names.
"""

import re

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from stp.core.errors import StpError
from stp.metrics.networks.state import State, load

SIZE = 224
"""Height and width of the frames that the network was trained on."""
FRAMES = 16
"""Number of frames of the clips that the network was trained on."""
HEADS = {384: 6, 768: 12, 1024: 16, 1280: 16, 1408: 16}
"""Number of attention heads by width of a token: small, base, large, huge, giant."""
EPSILON = 1e-6


def positions(count: int, width: int) -> Tensor:
    """Sinusoidal position codes of tokens, alternately sines and cosines.

    Returns:
        position codes, float32 (count, width).
    """
    rates = np.power(10000, -(2 * (np.arange(width) // 2) / width))
    angles = np.arange(count)[:, None] * rates
    table = np.where(np.arange(width) % 2, np.cos(angles), np.sin(angles))
    return torch.from_numpy(table.astype(np.float32))


class PatchEmbed(nn.Module):
    """Layer that embeds the patches of a clip as tokens."""

    def __init__(self, width: int, patch: int, tube: int) -> None:
        super().__init__()
        self.proj = nn.Conv3d(3, width, (tube, patch, patch), (tube, patch, patch))

    def forward(self, x: Tensor) -> Tensor:
        """Map clips (N, 3, T, H, W) to tokens (N, T / tube * H / patch * W / patch, width)."""
        tokens: Tensor = self.proj(x).flatten(2).transpose(1, 2)
        return tokens


class Attention(nn.Module):
    """Self-attention layer with biases for queries and values, but not for keys."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.q_bias, self.v_bias = (nn.Parameter(torch.zeros(width)) for _ in range(2))
        self.proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (N, L, width) to the same shape."""
        bias = torch.cat([self.q_bias, torch.zeros_like(self.v_bias), self.v_bias])
        tokens = F.linear(x, self.qkv.weight, bias)
        q, k, v = tokens.unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v)
        outputs: Tensor = self.proj(attended.transpose(1, 2).flatten(2))
        return outputs


class Mlp(nn.Module):
    """Two linear layers with an activation between them."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (N, L, width) to the same shape."""
        outputs: Tensor = self.fc2(F.gelu(self.fc1(x)))
        return outputs


class Block(nn.Module):
    """Transformer block: attention, then two linear layers; each output is added to its input."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=EPSILON) for _ in range(2))
        self.attn, self.mlp = Attention(width, heads), Mlp(width, hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (N, L, width) to the same shape."""
        x = x + self.attn(self.norm1(x))
        outputs: Tensor = x + self.mlp(self.norm2(x))
        return outputs


class VideoMAE(nn.Module):
    """The encoder of VideoMAE, initially with random weights.

    Args:
        width: number of features of a token.
        depth: number of blocks.
        heads: number of attention heads.
        hidden: hidden width of the two linear layers of a block.
        patch: height and width of a patch, pixels.
        tube: number of frames of a patch.
    """

    def __init__(
        self, width: int, depth: int, heads: int, hidden: int, patch: int = 16, tube: int = 2
    ) -> None:
        super().__init__()
        self.patch_embed = PatchEmbed(width, patch, tube)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(depth))
        self.fc_norm = nn.LayerNorm(width, eps=EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        """Map normalised clips (N, 3, T, H, W) to features (N, width)."""
        tokens = self.patch_embed(x)
        tokens = tokens + positions(*tokens.shape[1:]).to(tokens)
        for block in self.blocks:
            tokens = block(tokens)
        features: Tensor = self.fc_norm(tokens.mean(dim=1))
        return features


def read_videomae(state: State) -> VideoMAE:
    """Build the encoder from weights, whose shapes set its size; the classifier is left out.

    Raises:
        StpError: the weights are not those of a fine-tuned VideoMAE.
    """
    used = {key: tensor for key, tensor in state.items() if not key.startswith("head.")}
    numbers = {int(m[1]) for key in used if (m := re.match(r"blocks\.(\d+)\.", key))}
    patches, hidden = used.get("patch_embed.proj.weight"), used.get("blocks.0.mlp.fc1.bias")
    if patches is None or patches.ndim != 5 or hidden is None or len(patches) not in HEADS:
        raise StpError(
            f"these are no weights of VideoMAE: {len(used)} tensors, the first is "
            f"{next(iter(used), 'missing')}",
            expected="patch_embed.proj.weight and blocks.0.mlp.fc1.bias, of a width of "
            f"{', '.join(map(str, HEADS))}",
            remedy="use a fine-tuned encoder of the authors (config/weights.yaml)",
        )
    width, _, tube, patch, _ = patches.shape
    network = VideoMAE(width, len(numbers), HEADS[width], len(hidden), patch, tube)
    load(network, used, "VideoMAE")
    return network.eval().requires_grad_(False)
