"""ClimaX (Nguyen et al. 2023, https://arxiv.org/abs/2301.10343): transformer for any lead time.

Each variable of each patch is a token. A learnt query combines the tokens of a patch into one
token, to which embeddings of position and lead time are added. Transformer blocks and a head
follow. Names and shapes of the weights are those of microsoft/ClimaX (src/climax/arch.py @4cd87c7),
so that published weights can be imported (`Model.from_published`).
"""

import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stp.core.errors import StpError
from stp.core.options import number, require, whole
from stp.models.model import ForecastModel
from stp.models.one_step import PREDICTS
from stp.models.padding import pad

LEVELS = (50, 250, 500, 600, 700, 850, 925)
"""Pressure levels of the published weights, hPa."""
VARIABLES = (
    *("land_sea_mask", "orography", "lattitude"),
    *("2m_temperature", "10m_u_component_of_wind", "10m_v_component_of_wind"),
    *(
        f"{name}_{level}"
        for name in (
            *("geopotential", "u_component_of_wind", "v_component_of_wind"),
            *("temperature", "relative_humidity", "specific_humidity"),
        )
        for level in LEVELS
    ),
)
"""Variables of the published weights, in their order and spelling there."""
LEAD_UNIT = 100.0
"""Lead time in hours that is 1 in the input of the network."""


def attention(q: Tensor, k: Tensor, v: Tensor, heads: int) -> Tensor:
    """Multi-head softmax attention.

    Args:
        q: N queries of width D, (B, N, D).
        k, v: M keys and their values, (B, M, D) each.
        heads: number of heads, which must divide D.

    Returns:
        for each query, the weighted mean of the values, (B, N, D).
    """
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    shares = (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(dim=-1)
    return (shares @ v).transpose(1, 2).flatten(2)


class Aggregation(nn.Module):
    """Combines the tokens of all variables of a patch into one token, by attention.

    One learnt query attends to these tokens. Weights are named as in nn.MultiheadAttention.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * width))
        self.out_proj = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.in_proj_weight)

    def forward(self, query: Tensor, tokens: Tensor) -> Tensor:
        """Combine the tokens of V variables at each of N patches into one token.

        Args:
            query: learnt query, (1, 1, width of tokens).
            tokens: tokens, (N, V, width of tokens).

        Returns:
            combined tokens, (N, width of tokens).
        """
        weights, biases = self.in_proj_weight.chunk(3), self.in_proj_bias.chunk(3)
        q = F.linear(query.expand(len(tokens), -1, -1), weights[0], biases[0])
        k, v = (F.linear(tokens, weights[i], biases[i]) for i in (1, 2))
        gathered: Tensor = self.out_proj(attention(q, k, v, self.heads))
        return gathered[:, 0]


class SelfAttention(nn.Module):
    """Self-attention with one linear layer for queries, keys and values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Update N tokens of width D for each of B clips: (B, N, D) -> (B, N, D)."""
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        attended: Tensor = self.proj(attention(q, k, v, self.heads))
        return attended


class Perceptron(nn.Module):
    """Two linear layers with a GELU between them."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layers to tokens of width D: (..., D) -> (..., D)."""
        outputs: Tensor = self.fc2(F.gelu(self.fc1(x)))
        return outputs


class Block(nn.Module):
    """Block of a vision transformer (Dosovitskiy et al. 2020, arXiv:2010.11929).

    Args:
        width: width of tokens.
        heads: number of attention heads.
        ratio: hidden width of the perceptron divided by `width`.
        drop: dropout probability.
        drop_path: probability that a clip skips a branch in training (stochastic depth).
    """

    def __init__(self, width: int, heads: int, ratio: float, drop: float, drop_path: float) -> None:
        super().__init__()
        self.drop, self.drop_path = drop, drop_path
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = SelfAttention(width, heads)
        self.mlp = Perceptron(width, int(ratio * width))

    def forward(self, x: Tensor) -> Tensor:
        """Update N tokens of width D for each of B clips: (B, N, D) -> (B, N, D)."""
        x = x + self._drop_branch(self.attn(self.norm1(x)))
        return x + self._drop_branch(self.mlp(self.norm2(x)))

    def _drop_branch(self, branch: Tensor) -> Tensor:
        branch = F.dropout(branch, self.drop, self.training)
        if not self.training or not self.drop_path:
            return branch
        kept = torch.rand(len(branch), 1, 1, device=branch.device) >= self.drop_path
        return branch * kept / (1 - self.drop_path)


class Model(ForecastModel):
    """Forecasts each lead time directly, with the lead time as an input.

    In training, one lead time is drawn for each clip from `leads`.

    Args:
        shape: (C, H, W) of a frame; padded where H or W are not multiples of `patch`.
        context: number of context frames; each variable of each frame is a token.
        horizon: number of lead times in training; forecasts can have any number.
        patch: side of the patches, pixels.
        width: width of tokens; a multiple of 4 and of `heads`.
        depth: number of blocks.
        decoder_depth: number of layers of the head before its last layer.
        heads: number of attention heads.
        mlp_ratio: hidden width of the perceptrons divided by `width`.
        drop: dropout probability.
        drop_path: probability that a clip skips a branch of the last block in training; it
            increases linearly over the blocks.
        hours: hours between two frames.
        leads: lead times to train, drawn in proportion to how often they are listed; empty for all,
            equally often.
        variables: for each channel, its name in `VARIABLES`, or null if it has none there; such a
            channel keeps its own initial weights. Needed for ClimaX's published weights, which have
            one context frame; otherwise leave it empty.
        predicts: output of the network: ``state``, the frame, or ``change``, its difference from
            the latest context frame.
        initial_std: standard deviation of the initial weights of linear layers and patches. The
            released value, 0.02, suits tokens of width 1024; narrow tokens need a larger one.

    Raises:
        StpError: an option is out of range.
    """

    needs_lead_times = True

    def __init__(
        self,
        shape: tuple[int, int, int],
        context: int,
        horizon: int,
        *,
        patch: int = 4,
        width: int = 1024,
        depth: int = 8,
        decoder_depth: int = 2,
        heads: int = 16,
        mlp_ratio: float = 4.0,
        drop: float = 0.1,
        drop_path: float = 0.1,
        hours: float = 24.0,
        leads: Sequence[int] = (),
        variables: Sequence[str | None] = (),
        predicts: str = "state",
        initial_std: float = 0.02,
    ) -> None:
        super().__init__(context)
        for name, value in {
            **{"patch": patch, "width": width, "depth": depth, "heads": heads},
            "decoder_depth": decoder_depth,
        }.items():
            require(whole(value, 1), f"options.{name}", value, "a whole number from 1")
        ok = width % 4 == 0 and width % heads == 0
        require(ok, "options.width", width, f"a multiple of 4 and of heads, {heads}")
        for name, share in {"drop": drop, "drop_path": drop_path}.items():
            ok = number(share) and 0 <= share < 1
            require(ok, f"options.{name}", share, "a number from 0, below 1")
        require(predicts in PREDICTS, "options.predicts", predicts, " or ".join(PREDICTS))
        ok = number(initial_std) and initial_std > 0
        require(ok, "options.initial_std", initial_std, "a number > 0")
        require(number(hours) and hours > 0, "options.hours", hours, "a number > 0")
        ok = all(whole(lead, 1, horizon) for lead in leads)
        require(ok, "options.leads", leads, f"whole numbers from 1 to {horizon}, the horizon")
        tokens = context * shape[0]
        ok = not variables or (
            len(variables) == tokens and all(v is None or v in VARIABLES for v in variables)
        )
        require(ok, "options.variables", variables, f"{tokens} names of ClimaX, or null each")
        self.patch, self.hours = patch, hours
        self.predicts = predicts
        self.leads = list(leads) or list(range(1, horizon + 1))
        self.variables, self.channels = tuple(variables), shape[0]
        self.sides = -(-shape[1] // patch), -(-shape[2] // patch)
        self.token_embeds = nn.ModuleList(Patches(patch, width, initial_std) for _ in range(tokens))
        self.var_embed = nn.Parameter(waves(torch.arange(tokens), width)[None])
        self.var_query = nn.Parameter(torch.zeros(1, 1, width))
        self.var_agg = Aggregation(width, heads)
        self.pos_embed = nn.Parameter(position_embeddings(self.sides, width)[None])
        self.lead_time_embed = nn.Linear(1, width)
        self.drop = drop
        shares = torch.linspace(0, drop_path, depth, device="cpu").tolist()
        self.blocks = nn.ModuleList(Block(width, heads, mlp_ratio, drop, s) for s in shares)
        self.norm = nn.LayerNorm(width)
        layers: list[nn.Module] = []
        for _ in range(decoder_depth):
            layers += [nn.Linear(width, width), nn.GELU()]
        self.head = nn.Sequential(*layers, nn.Linear(width, shape[0] * patch**2))
        # With the released value, tokens of width 64 are much smaller than position embeddings.
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=initial_std)
                nn.init.zeros_(module.bias)

    def forward(
        self, frames: Tensor, horizon: int, lead_times: Sequence[int] | None = None
    ) -> Tensor:
        """Forecast frames at given lead times.

        Args:
            frames: T_in context frames of B clips, (B, T_in, C, H, W).
            horizon: number of lead times.
            lead_times: the lead times, from 1, as many as `horizon`; None for 1, 2, ..., `horizon`.

        Returns:
            frames at these lead times, (B, horizon, C, H, W).
        """
        leads = range(1, horizon + 1) if lead_times is None else lead_times
        tokens = self._tokens(frames)
        leads_of_clips = (torch.full((len(frames),), lead, device=frames.device) for lead in leads)
        return torch.stack([self._forecast(frames, tokens, lead) for lead in leads_of_clips], dim=1)

    def outputs(
        self, clip: Tensor, step: int, leads: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Forecast one lead time of each clip.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration; ignored.
            leads: lead time of each clip, int64 (B,); the clip then has only this frame after the
                context (T_out = 1). None: clips have all frames, and lead times are drawn at
                random.

        Returns:
            predicted and observed frames, (B, 1, C, H, W) each.
        """
        # The training loop draws lead times before clips are read, and reads no other future frame.
        context, future = clip[:, : self.context], clip[:, self.context :]
        index = torch.zeros(len(clip), dtype=torch.int64, device=clip.device)
        if leads is None:
            candidates = torch.tensor([n for n in self.leads if n <= future.shape[1]])
            leads = candidates[torch.randint(len(candidates), (len(clip),))].to(clip.device)
            index = leads - 1
        forecast = self._forecast(context, self._tokens(context), leads)
        observed = future[torch.arange(len(clip), device=clip.device), index]
        return forecast.unsqueeze(1), observed.unsqueeze(1)

    def loss(self, clip: Tensor, step: int, leads: Tensor | None = None) -> Tensor:
        """Mean squared error of one lead time of each clip.

        Args:
            clip: context and later frames, (B, T_in + T_out, C, H, W).
            step: training iteration; ignored.
            leads: lead time of each clip, int64 (B,); the clip then has only this frame after the
                context. None: clips have all frames, and lead times are drawn at random.
        """
        predicted, observed = self.outputs(clip, step, leads)
        return F.mse_loss(predicted.float(), observed)

    def from_published(self, published: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Convert published weights to a state_dict of this network.

        Names of a Lightning module (``net.``) and of older files (``channel_embed``) are accepted.
        Weights of tokens and outputs are copied for the channels in `variables`; other channels
        keep their own. Position embeddings are interpolated to the grid of this network.

        Args:
            published: tensors by name in the file.

        Returns:
            tensors by name in `state_dict`.

        Raises:
            StpError: the weights are for other variables, or `variables` is not set.
        """
        by_name = {
            name.removeprefix("net.").replace("channel_", "var_"): tensor
            for name, tensor in published.items()
        }
        own = {name: tensor.clone() for name, tensor in self.state_dict().items()}
        if by_name.keys() == own.keys() and not self.variables:
            return by_name
        count = by_name["var_embed"].shape[1] if "var_embed" in by_name else 0
        if count != len(VARIABLES) or not self.variables or self.context != 1:
            raise StpError(
                f"published weights of {count} variables",
                expected=f"those of ClimaX's {len(VARIABLES)}, and options.variables, which says "
                "what each channel of one context frame is called there",
                remedy="set options.variables of climax for this dataset",
            )
        pairs = [
            (channel, VARIABLES.index(name))
            for channel, name in enumerate(self.variables)
            if name is not None
        ]
        ours, theirs = (torch.tensor(numbers) for numbers in zip(*pairs, strict=True))
        for channel, index in pairs:
            for part in ("weight", "bias"):
                own[f"token_embeds.{channel}.proj.{part}"] = by_name[
                    f"token_embeds.{index}.proj.{part}"
                ]
        own["var_embed"][:, ours] = by_name["var_embed"][:, theirs]
        own["pos_embed"] = _resize_embedding(by_name["pos_embed"], self.sides)
        last = f"head.{len(self.head) - 1}"
        for part in ("weight", "bias"):
            rows = own[f"{last}.{part}"].unflatten(0, (self.patch**2, -1))
            rows[:, ours] = by_name[f"{last}.{part}"].unflatten(0, (self.patch**2, -1))[:, theirs]
        of_variables = ("token_embeds", "var_embed", "pos_embed", last)
        return own | {n: t for n, t in by_name.items() if not n.startswith(of_variables)}

    def _tokens(self, frames: Tensor) -> Tensor:
        """Context (B, T_in, C, H, W) -> one token for each patch, (B, N, D)."""
        fields = pad(frames, self.patch).flatten(1, 2)
        tokens = torch.stack(
            [embed(fields[:, i : i + 1]) for i, embed in enumerate(self.token_embeds)], dim=2
        )
        tokens = tokens + self.var_embed
        gathered = self.var_agg(self.var_query, tokens.flatten(0, 1))
        tokens_of_patches: Tensor = gathered.unflatten(0, tokens.shape[:2]) + self.pos_embed
        return tokens_of_patches

    def _forecast(self, frames: Tensor, tokens: Tensor, lead: Tensor) -> Tensor:
        """Context, its tokens (B, N, D) and lead times (B,) -> frames (B, C, H, W)."""
        hours = lead[:, None].to(tokens.dtype) * self.hours / LEAD_UNIT
        x = F.dropout(tokens + self.lead_time_embed(hours)[:, None], self.drop, self.training)
        for block in self.blocks:
            x = block(x)
        # In the head's output, channels change fastest, then columns of a patch.
        x = self.head(self.norm(x)).unflatten(1, self.sides)
        x = x.unflatten(-1, (self.patch, self.patch, self.channels))
        x = x.permute(0, 5, 1, 3, 2, 4).flatten(4, 5).flatten(2, 3)
        fields = x[..., : frames.shape[-2], : frames.shape[-1]]
        return fields + frames[:, -1] if self.predicts == "change" else fields


class Patches(nn.Module):
    """Patch embedding of one variable; weights named as in timm's PatchEmbed."""

    def __init__(self, patch: int, width: int, initial_std: float) -> None:
        super().__init__()
        self.proj = nn.Conv2d(1, width, patch, stride=patch)
        nn.init.trunc_normal_(self.proj.weight, std=initial_std)

    def forward(self, field: Tensor) -> Tensor:
        """Map a field to a token for each patch, in row-major order.

        (B, 1, H, W) -> (B, number of patches, width of tokens).
        """
        tokens: Tensor = self.proj(field)
        return tokens.flatten(2).transpose(1, 2)


def waves(positions: Tensor, width: int) -> Tensor:
    """Sinusoidal embeddings, first sines, then cosines: positions (N,) -> (N, width)."""
    frequencies = 10_000.0 ** -(torch.arange(width // 2) / (width / 2))
    angles = positions[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def position_embeddings(sides: tuple[int, int], width: int) -> Tensor:
    """Sinusoidal position embeddings of a grid, (rows * columns, width), in row-major order.

    The first half of an embedding represents the column (`waves`), the second half the row.

    Args:
        sides: number of rows and of columns.
        width: length of an embedding, a multiple of 4.
    """
    rows, columns = (torch.arange(side) for side in sides)
    along = waves(columns, width // 2).repeat(sides[0], 1)
    down = waves(rows, width // 2).repeat_interleave(sides[1], dim=0)
    return torch.cat([along, down], dim=1)


def _resize_embedding(embedding: Tensor, sides: tuple[int, int]) -> Tensor:
    """Interpolate position embeddings, (1, N, D), of a 1 : 2 grid to another grid."""
    rows = math.isqrt(embedding.shape[1] // 2)
    if (rows, 2 * rows) == sides:
        return embedding
    grid = embedding[0].T.unflatten(1, (rows, 2 * rows))[None]
    resized = F.interpolate(grid, size=sides, mode="bicubic", align_corners=False)
    return resized.flatten(2).transpose(1, 2)
