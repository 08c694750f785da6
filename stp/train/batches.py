"""Reading of batches, one ahead of the computation."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from stp.data.prepared import Clips
from stp.models.normalisation import Normalisation

CPU = torch.device("cpu")
CACHED_BYTES = 1 << 23
"""Frames of about this size stay in the cache of a processor between two operations."""


def read_batches(
    clips: Clips,
    rows: np.ndarray,
    size: int,
    *,
    length: int,
    frames: Sequence[int] | Callable[[np.ndarray], np.ndarray] | None = None,
    normalisation: Normalisation,
    device: torch.device = CPU,
    epoch: int = 0,
    rank: int = 0,
    ranks: int = 1,
) -> Iterator[tuple[np.ndarray, Tensor]]:
    """Read clips in the given order; a thread reads the next batch meanwhile.

    Batches are read into two blocks of memory in turns: new memory for each costs more than the
    reading. What goes to another device is normalised there.

    Args:
        clips: where from.
        rows: clip numbers.
        size: clips in a batch; the last one may have fewer.
        length: frames T of a clip.
        frames: those of them that are read; all unless given. A function of rows says it for each,
            as many for all, (B, T).
        normalisation: applied to all frames.
        device: where batches are wanted.
        epoch: of clips that are rendered on demand.
        rank: which share of every batch to read, 0..ranks-1.
        ranks: how many processes share a batch.

    Yields:
        the rows of (this share of) a batch, and its normalised frames, float32 (B, T, C, H, W). On
        the CPU they are overwritten as soon as the next batch is asked for. A share without clips
        is left out.
    """
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]
    parts = [part for part in (np.array_split(b, ranks)[rank] for b in batches) if len(part)]
    blocks: list[np.ndarray] = []

    def of(turn: int) -> Tensor:
        part = parts[turn]
        wanted = frames(part) if callable(frames) else frames
        out = blocks[turn % 2][: len(part)] if turn > 1 else None
        read = clips.read(part, length=length, frames=wanted, epoch=epoch, out=out)
        if out is None:
            blocks.append(read)
        found = torch.from_numpy(read)
        if device.type == "cpu":
            for some in found.flatten(0, 1).split(max(1, CACHED_BYTES // read[0, 0].nbytes)):
                normalisation.apply_(some)
        return found

    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(of, 0) if parts else None
        for turn, part in enumerate(parts):
            assert following is not None
            found = following.result()
            following = reader.submit(of, turn + 1) if turn + 1 < len(parts) else None
            if device.type != "cpu":
                found = normalisation.apply_(found.to(device))
            yield part, found
