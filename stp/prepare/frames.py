"""Write ``frames.zarr`` from raw files in pieces, by several processes, with resumption.

A reader lists the pieces (a video, a trajectory, some hours of a field) with their numbers of
frames, and decodes one piece at a time. The numbers of frames determine the position of each piece
in the store, so pieces can be written in any order and by any process. The state folder of the job
contains the unfinished store and a record of finished pieces, from which a run continues after it
was killed.
"""

import hashlib
import json
import pickle
import resource
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
import zarr
from numpy.typing import DTypeLike

from stp.core.errors import RawFileError, StpError
from stp.core.job import Job
from stp.data.raw_files import RawFiles
from stp.data.zarr_write import RowWriter, create_array, create_group

DONE = "pieces.jsonl"
STORE = "frames.zarr"
CHUNK_BYTES = 1 << 20


class Piece(NamedTuple):
    """Frames that are decoded at once and lie one after the other in the store, such as a video.

    Attributes:
        name: unique, readable name, for errors and the record of finished pieces.
        frames: number of frames. They must fit into memory: at most about 256 MB.
        task: input of the decoder, which must be picklable.
        raw_bytes: size of the raw data to read, in bytes, for the throughput.
    """

    name: str
    frames: int
    task: Any
    raw_bytes: int = 0


class Decoded(NamedTuple):
    """Decoded frames of a piece, and what the decoder noted about them.

    A piece (`Piece`) has frames that are decoded at once, such as those of a video.

    Attributes:
        frames: frames, (T, C, H, W).
        note: any JSON value that the reader needs after all pieces were written, such as the number
            of frames that exist; see `Written.notes`.
    """

    frames: np.ndarray
    note: Any


Decode = Callable[[RawFiles, Any], np.ndarray | Decoded]
"""``decode(raw, task)`` returns the frames of the `Piece` with this ``task``, (frames, C, H, W), or
these with a note (`Decoded`). Must be picklable: a function of a module, or a `functools.partial`
of one."""


class Stream(NamedTuple):
    """Reader of all pieces, for raw files that are read once in their order, such as a tar stream.

    `write_frames` takes a function that decodes one piece (a video, or some hours of a field), and
    calls it in several processes. Where raw files must be read from beginning to end, a `Stream`
    takes the place of this function: it decodes all pieces in one process.

    Attributes:
        read: ``read(indices)`` yields the index and the frames, (frames, C, H, W), of each piece
            whose index is listed, once and in any order.
    """

    read: Callable[[list[int]], Iterator[tuple[int, np.ndarray]]]


@dataclass(frozen=True)
class Statistics:
    """Statistics of the stored frames, piece by piece, for normalisation and checks.

    A piece has frames that are decoded at once, such as those of a video (`Piece`). Statistics of
    the training frames alone follow from those of the training pieces.

    Attributes:
        count: number of values per channel, without missing ones (NaN), int64 (pieces, C).
        sum: sum of the stored values, float64 (pieces, C).
        squares: sum of their squares, float64 (pieces, C).
        low: smallest value, float64 (pieces, C).
        high: largest value, float64 (pieces, C).
    """

    count: np.ndarray
    sum: np.ndarray
    squares: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def of(self, pieces: np.ndarray | list[int]) -> dict[str, list[float]]:
        """Compute the statistics of each channel over the frames of some pieces.

        Args:
            pieces: indices of the pieces (frames that are decoded at once), such as those of the
                training split, in the order of `write_frames`.

        Returns:
            ``mean``, ``std``, ``min`` and ``max`` of the stored values, each a list with a number
            for each channel.
        """
        at = np.asarray(pieces, np.int64)
        n = self.count[at].sum(axis=0)
        mean = self.sum[at].sum(axis=0) / n
        # Rounding may make it negative.
        variance = np.maximum(self.squares[at].sum(axis=0) / n - mean**2, 0)
        return {
            "mean": mean.tolist(),
            "std": np.sqrt(variance).tolist(),
            "min": self.low[at].min(axis=0).tolist(),
            "max": self.high[at].max(axis=0).tolist(),
        }


@dataclass(frozen=True)
class StoredPiece:
    """Record of a piece (`Piece`) that has been written, a line of ``pieces.jsonl``.

    An interrupted run reads these lines to continue after the finished pieces.

    Attributes:
        piece: index of the piece.
        count: number of values of each channel, without missing ones.
        sum: sum of the values of each channel.
        squares: sum of the squares of the values of each channel.
        low: smallest value of each channel.
        high: largest value of each channel.
        note: note of the decoder on the piece, see `Decoded`.
    """

    piece: int
    count: list[int]
    sum: list[float]
    squares: list[float]
    low: list[float]
    high: list[float]
    note: Any

    def line(self) -> str:
        """The record as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"


class Written(NamedTuple):
    """The finished ``frames.zarr``, as `write_frames` returns it.

    Attributes:
        group: Zarr group, open for coordinates and further attributes.
        statistics: number, sum, sum of squares, minimum and maximum of the stored values, for each
            piece (frames that are decoded at once, such as those of a video) and channel.
        notes: what the decoder noted about each piece (`Decoded`), None without a note; pieces in
            the order of the store.
        extras: facts for the receipt, by name: numbers of pieces and frames, decoding time, size of
            the raw data that were read, and peak memory.
    """

    group: zarr.Group
    statistics: Statistics
    notes: list[Any]
    extras: dict[str, float]


def write_frames(
    job: Job,
    raw: RawFiles,
    pieces: Sequence[Piece],
    decode: Decode | Stream,
    *,
    attrs: Mapping[str, Any],
    dtype: DTypeLike,
    unit: str,
    then: Callable[[zarr.Group], None] | None = None,
    may_lack: Sequence[int] = (),
) -> Written:
    """Write ``frames.zarr`` with the frames of all pieces, one piece after the other.

    A piece (`Piece`) has frames that are decoded at once, such as those of a video.

    Args:
        job: job of the stage; ``prepare_workers`` of its runtime is the number of processes.
        raw: the raw files.
        pieces: pieces in the order of the store.
        decode: function that decodes one piece; or a `Stream`, which reads all in one process.
        attrs: attributes of the Zarr group, including ``shape``: channels, height and width.
        dtype: type of the stored values.
        unit: name of the pieces in the plural, for progress: "videos".
        then: function of the group that is called when all frames are written, for example to
            compute a climatology; if it is interrupted, the frames are kept.
        may_lack: indices of channels that may contain NaN, such as soil moisture, which is NaN at
            sea; statistics ignore NaN.

    Raises:
        StpError: a piece cannot be decoded, its frames have an unexpected number or shape, or
            values are not finite.
    """
    shape = tuple(attrs["shape"])
    names = [piece.name for piece in pieces]
    assert len(set(names)) == len(names), "pieces with the same name"
    total = sum(piece.frames for piece in pieces)
    if not total:
        raise StpError(
            f"{job.recipe['dataset']}: no frames in the raw files",
            expected=f"some {unit}",
            remedy="see `stp fetch --check`, and the options of the reader",
        )
    folder = job.state / STORE
    done = _resume(job, pieces, attrs, dtype)
    if done is None:
        done = _start(job, pieces, attrs, dtype, total, shape)
    group = zarr.open_group(str(folder), mode="r+", zarr_format=3)
    starts = np.concatenate([[0], np.cumsum([piece.frames for piece in pieces])]).tolist()
    todo = [i for i in range(len(pieces)) if i not in done]
    resumed = len(done)
    begun = time.monotonic()
    if todo:
        context = _Context(str(folder), raw, decode, np.dtype(dtype), shape, tuple(may_lack))
        results: Iterator[StoredPiece]
        if isinstance(decode, Stream):
            results = (
                context.store(i, pieces[i], starts[i], frames) for i, frames in decode.read(todo)
            )
        else:
            workers = min(int(job.runtime.get("prepare_workers", 1)), len(todo))
            results = _results(context, [(i, pieces[i], starts[i]) for i in todo], workers)
        with (job.state / DONE).open("a", encoding="utf-8") as record:
            for finished in results:
                done[finished.piece] = finished
                record.write(finished.line())
                record.flush()
                job.report(unit, len(done), len(pieces))
    seconds = time.monotonic() - begun
    stored = [done[i] for i in range(len(pieces))]
    statistics = Statistics(
        count=np.array([piece.count for piece in stored], np.int64),
        sum=np.array([piece.sum for piece in stored], np.float64),
        squares=np.array([piece.squares for piece in stored], np.float64),
        low=np.array([piece.low for piece in stored], np.float64),
        high=np.array([piece.high for piece in stored], np.float64),
    )
    if then is not None:
        then(group)
    final = job.out / STORE
    del group
    shutil.move(folder, final)
    (job.state / DONE).unlink()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    extras = {
        unit: len(pieces),
        "frames": total,
        "pieces resumed": resumed,
        "decoding seconds": round(seconds, 3),
        "raw MB": round(sum(pieces[i].raw_bytes for i in todo) / 1e6, 3),
        "peak memory MB": round(max(peak, children) * 1024 / 1e6),
    }
    return Written(
        zarr.open_group(str(final), mode="r+", zarr_format=3),
        statistics,
        [piece.note for piece in stored],
        extras,
    )


def _digest(pieces: Sequence[Piece], attrs: Mapping[str, Any], dtype: DTypeLike) -> str:
    text = json.dumps([attrs["shape"], str(np.dtype(dtype)), attrs.get("raw")], sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for piece in pieces:
        digest.update(pickle.dumps((piece.name, piece.frames), protocol=4))
    return digest.hexdigest()


def _resume(
    job: Job, pieces: Sequence[Piece], attrs: Mapping[str, Any], dtype: DTypeLike
) -> dict[int, StoredPiece] | None:
    """Finished pieces of an earlier run with the same pieces and files; None without such a run."""
    try:
        lines = (job.state / DONE).read_text(encoding="utf-8").splitlines(keepends=True)
        first = json.loads(lines[0])
    except (OSError, ValueError, IndexError):
        return None
    if first.get("digest") != _digest(pieces, attrs, dtype) or not (job.state / STORE).is_dir():
        return None
    whole = [line for line in lines[1:] if line.endswith("\n")]  # the last may be cut off
    done = {piece.piece: piece for piece in (StoredPiece(**json.loads(line)) for line in whole)}
    # The record is written again: nothing is appended to half a line.
    text = lines[0] + "".join(piece.line() for piece in done.values())
    (job.state / DONE).write_text(text, encoding="utf-8")
    return done


def _start(
    job: Job,
    pieces: Sequence[Piece],
    attrs: Mapping[str, Any],
    dtype: DTypeLike,
    total: int,
    shape: tuple[int, ...],
) -> dict[int, StoredPiece]:
    folder = job.state / STORE
    (job.state / DONE).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    job.state.mkdir(parents=True, exist_ok=True)
    group = create_group(folder, attrs)
    frame_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    rows = max(1, min(10, CHUNK_BYTES // frame_bytes))
    dims = ("frame", "channel", "y", "x")
    array = create_array(group, "frames", (total, *shape), dtype, dims, (rows, *shape))
    RowWriter(array).close()
    first = json.dumps({"digest": _digest(pieces, attrs, dtype)})
    (job.state / DONE).write_text(first + "\n", encoding="utf-8")
    return {}


class _Context:
    """State of a process that writes pieces; the store is opened with the first piece."""

    def __init__(
        self,
        folder: str,
        raw: RawFiles,
        decode: Decode | Stream,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        may_lack: tuple[int, ...],
    ) -> None:
        self.folder, self.raw, self.decode = folder, raw, decode
        self.dtype, self.shape, self.may_lack = dtype, shape, may_lack
        self.writer: RowWriter | None = None

    def make(self, number: int, piece: Piece, start: int) -> StoredPiece:
        """Decode a piece and store it."""
        assert not isinstance(self.decode, Stream)
        return self.store(number, piece, start, self.decode(self.raw, piece.task))

    def store(
        self, number: int, piece: Piece, start: int, decoded: np.ndarray | Decoded
    ) -> StoredPiece:
        """Check and write the frames of a piece."""
        frames, note = decoded if isinstance(decoded, Decoded) else (decoded, None)
        if frames.shape != (piece.frames, *self.shape) or frames.dtype != self.dtype:
            raise RawFileError(
                piece.name,
                f"{frames.dtype} frames of shape {frames.shape}",
                expected=f"{self.dtype} {(piece.frames, *self.shape)}",
            )
        lost, bad = None, 0
        if frames.dtype.kind == "f" and not np.isfinite(frames).all():
            lost = np.isnan(frames)
            allowed = np.isin(np.arange(frames.shape[1]), self.may_lack)[:, None, None]
            bad = int((~np.isfinite(frames) & ~(lost & allowed)).sum())
        if bad:
            raise RawFileError(piece.name, f"{bad} values are missing or not finite")
        if self.writer is None:
            array = zarr.open_group(self.folder, mode="r+", zarr_format=3)["frames"]
            assert isinstance(array, zarr.Array)
            self.writer = RowWriter(array, create=False)
        self.writer.write(start, frames)
        return _piece_statistics(number, frames, note, lost)


def _piece_statistics(
    number: int, frames: np.ndarray, note: Any, lost: np.ndarray | None = None
) -> StoredPiece:
    """Statistics of the frames of a piece; ``lost`` masks NaN, if there are any."""
    channels = frames.shape[1]
    sums, squares = np.zeros(channels), np.zeros(channels)
    counts = np.full(channels, frames.size // max(channels, 1))
    lows, highs = frames, frames
    if lost is not None:
        counts -= lost.sum(axis=(0, 2, 3))
        lows, highs = (np.where(lost, frames.dtype.type(x), frames) for x in (np.inf, -np.inf))
        frames = np.where(lost, frames.dtype.type(0), frames)
    for frame in frames:  # one by one: a float64 copy of all would be large
        values = frame.reshape(channels, -1).astype(np.float64)
        sums += values.sum(axis=1)
        squares += np.einsum("cn,cn->c", values, values)
    return StoredPiece(
        piece=number,
        count=counts.tolist(),
        sum=sums.tolist(),
        squares=squares.tolist(),
        low=lows.min(axis=(0, 2, 3)).astype(np.float64).tolist(),
        high=highs.max(axis=(0, 2, 3)).astype(np.float64).tolist(),
        note=note,
    )


_context: _Context | None = None  # set in worker processes


def _init_worker(context: _Context) -> None:
    global _context
    _context = context


def _make_in_worker(number: int, piece: Piece, start: int) -> StoredPiece:
    assert _context is not None
    return _context.make(number, piece, start)


def _results(
    context: _Context, work: list[tuple[int, Piece, int]], workers: int
) -> Iterator[StoredPiece]:
    """Make all pieces, a few at a time, so that memory does not grow with their number."""
    if workers <= 1:
        for args in work:
            yield context.make(*args)
        return
    # Forked processes would inherit threads that hold locks.
    with ProcessPoolExecutor(
        workers, get_context("forkserver"), initializer=_init_worker, initargs=(context,)
    ) as pool:
        try:
            waiting = iter(work)
            running: set[Future[StoredPiece]] = set()
            while True:
                for args in waiting:
                    running.add(pool.submit(_make_in_worker, *args))
                    if len(running) >= 2 * workers:
                        break
                if not running:
                    return
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield future.result()
        except BrokenExecutor as error:
            raise StpError(
                f"a process that prepared data was killed ({error})",
                remedy="lower runtime.prepare_workers, or request more memory; the next run "
                "continues where this one stopped",
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
