"""Read batches of clips; a thread reads the next batch during the computation."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from stp.data.prepared import Clips
from stp.models.normalisation import Normalisation

CPU = torch.device("cpu")
CACHED_BYTES = 1 << 23
"""Size of frames that stay in the cache of a processor between two operations."""


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
    """Yield batches of clips in the given order; a thread reads the next batch in advance.

    Two blocks of memory are reused for all batches, because allocation takes longer than reading.
    Frames for a GPU are normalised on the GPU.

    Args:
        clips: clips of a split.
        rows: indices of the clips, in the order of reading, int64 (N,).
        size: number of clips in a batch; the last batch may have fewer.
        length: number of frames of a clip.
        frames: indices of the frames to read, or a function from rows to such indices, (B, T); by
            default all frames.
        normalisation: normalisation of all frames.
        device: device of the batches.
        epoch: number of the epoch, which seeds clips that are generated on demand.
        rank: index of this process, 0..ranks-1, which reads its share of every batch.
        ranks: number of processes that share a batch.

    Yields:
        rows and normalised frames, float32 (B, T, C, H, W), of this process's share of a batch. On
        the CPU, the next batch overwrites the frames. Batches of which the process gets no clips
        are skipped.
    """
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]
    parts = [part for part in (np.array_split(b, ranks)[rank] for b in batches) if len(part)]
    blocks: list[np.ndarray] = []

    def of(turn: int) -> Tensor:
        part = parts[turn]
        numbers = frames(part) if callable(frames) else frames
        out = blocks[turn % 2][: len(part)] if turn > 1 else None
        array = clips.read(part, length=length, frames=numbers, epoch=epoch, out=out)
        if out is None:
            blocks.append(array)
        batch = torch.from_numpy(array)
        if device.type == "cpu":
            for some in batch.flatten(0, 1).split(max(1, CACHED_BYTES // array[0, 0].nbytes)):
                normalisation.apply_(some)
        return batch

    with ThreadPoolExecutor(1) as reader:
        following = reader.submit(of, 0) if parts else None
        for turn, part in enumerate(parts):
            assert following is not None
            batch = following.result()
            following = reader.submit(of, turn + 1) if turn + 1 < len(parts) else None
            if device.type != "cpu":
                batch = normalisation.apply_(batch.to(device))
            yield part, batch
