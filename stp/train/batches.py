"""Reading of batches, one ahead of the computation."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from stp.data.prepared import Clips
from stp.models.normalisation import Normalisation


def read_batches(
    clips: Clips,
    rows: np.ndarray,
    size: int,
    *,
    length: int,
    frames: Sequence[int] | Callable[[np.ndarray], np.ndarray] | None = None,
    normalisation: Normalisation,
    epoch: int = 0,
    rank: int = 0,
    ranks: int = 1,
) -> Iterator[tuple[np.ndarray, Tensor]]:
    """Read clips in the given order; a thread reads the next batch meanwhile.

    Args:
        clips: where from.
        rows: clip numbers.
        size: clips in a batch; the last one may have fewer.
        length: frames T of a clip.
        frames: those of them that are read; all unless given. A function of rows says it for each,
            as many for all, (B, T).
        normalisation: applied to all frames.
        epoch: of clips that are rendered on demand.
        rank: which share of every batch to read, 0..ranks-1.
        ranks: how many processes share a batch.

    Yields:
        the rows of (this share of) a batch, and its normalised frames, float32 (B, T, C, H, W).
        A share without clips is left out.
    """

    def of(batch: np.ndarray) -> Tensor:
        wanted = frames(batch) if callable(frames) else frames
        read = clips.read(batch, length=length, frames=wanted, epoch=epoch)
        return normalisation.apply_(torch.from_numpy(read))

    batches = [rows[start : start + size] for start in range(0, len(rows), size)]
    parts = [part for part in (np.array_split(b, ranks)[rank] for b in batches) if len(part)]
    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(of, parts[0]) if parts else None
        for i, part in enumerate(parts):
            assert following is not None
            found = following.result()
            following = reader.submit(of, parts[i + 1]) if i + 1 < len(parts) else None
            yield part, found
