"""The store is the same whoever makes its pieces, and however often they were interrupted."""

import multiprocessing
import os
import pickle
import signal

import numpy as np
import pytest
import xarray as xr

from stp.core.errors import ConfigurationError, RawFileError, StpError
from stp.data.raw_files import RawFiles
from stp.data.zarr_rows import MappedRows
from stp.prepare.frames import Decoded, Piece, write_frames

SHAPE = [2, 3, 4]


def decode(raw, task):
    """Frames full of a number; one task is a trap."""
    number, count, trap = task
    if trap and trap.exists():
        raise StpError("the trap is set")
    frames = np.full((count, *SHAPE), number, np.float32)
    frames[:, 1] += np.arange(count).reshape(-1, 1, 1)
    return Decoded(frames, f"note {number}")


def decode_nan(raw, task):
    return np.full((1, *SHAPE), np.nan, np.float32)


def pieces(trap=None):
    return [Piece(f"p{i}", 1 + i % 3, (i, 1 + i % 3, trap if i == 7 else None)) for i in range(12)]


@pytest.fixture
def job(tmp_path, make_job):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.bin").write_bytes(b"a")
    return make_job


def write(job, todo, decoder=decode):
    raw = RawFiles(job.inputs["raw"], job.runtime["raw_roots"])
    attrs = {"shape": SHAPE, "raw": raw.checksums()}
    return write_frames(job, raw, todo, decoder, attrs=attrs, dtype=np.float32, unit="pieces")


def frames_of(job):
    rows = MappedRows(job.out / "frames.zarr" / "frames")
    return np.array(rows.read(0, len(rows)))


def test_frames_notes_and_statistics_in_the_order_of_the_pieces(job):
    one = job("d", SHAPE, {})
    written = write(one, pieces())
    frames = frames_of(one)
    assert frames[:, 0, 0, 0].tolist() == [i for i in range(12) for _ in range(1 + i % 3)]
    assert written.notes == [f"note {i}" for i in range(12)]
    some = [4, 5, 11]
    chosen = np.concatenate([frames[frames[:, 0, 0, 0] == i] for i in some]).astype(np.float64)
    found = written.statistics.of(some)
    assert found["mean"] == pytest.approx(chosen.mean((0, 2, 3)))
    assert found["std"] == pytest.approx(chosen.std((0, 2, 3)))
    assert found["min"] == chosen.min((0, 2, 3)).tolist()
    assert found["max"] == chosen.max((0, 2, 3)).tolist()
    opened = xr.open_zarr(one.out / "frames.zarr", consolidated=False, chunks=None)
    np.testing.assert_array_equal(opened["frames"], frames)


def test_three_processes_write_the_same_bytes_as_one(job):
    one, three = job("d", SHAPE, {}), job("d", SHAPE, {}, prepare_workers=3)
    first, second = write(one, pieces()), write(three, pieces())
    for path in sorted((one.out / "frames.zarr").rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (three.out / path.relative_to(one.out)).read_bytes()
    assert first.notes == second.notes
    assert first.statistics.of([0, 5]) == second.statistics.of([0, 5])


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_failed_goes_on_where_it_stopped(job, tmp_path, workers):
    trap = tmp_path / "trap"
    trap.touch()
    failed = job("d", SHAPE, {}, prepare_workers=workers)
    with pytest.raises(StpError, match="trap"):
        write(failed, pieces(trap))
    record = (failed.state / "pieces.jsonl").read_text().splitlines(keepends=True)
    done = len(record) - 1
    assert 0 < done < 12
    with (failed.state / "pieces.jsonl").open("a") as file:
        file.write('{"piece": 11, "cou')  # cut off when the process was killed
    trap.unlink()
    again = job("d", SHAPE, {})
    assert write(again, pieces(trap)).extras["pieces resumed"] == done
    whole = job("d", SHAPE, {})
    write(whole, pieces())
    np.testing.assert_array_equal(frames_of(again), frames_of(whole))
    assert not (again.state / "pieces.jsonl").exists()


def test_other_pieces_start_anew(job, tmp_path):
    trap = tmp_path / "trap"
    trap.touch()
    failed = job("d", SHAPE, {})
    with pytest.raises(StpError):
        write(failed, pieces(trap))
    other = [piece._replace(name=f"other {piece.name}") for piece in pieces()]
    assert write(job("d", SHAPE, {}), other).extras["pieces resumed"] == 0


def test_what_does_not_fit_is_refused(job):
    with pytest.raises(StpError, match="p0: 24 "):
        write(job("d", SHAPE, {}), pieces()[:1], decode_nan)
    with pytest.raises(StpError, match=r"p0: .*\(1, 2, 3, 4\)"):
        write(job("d", SHAPE, {}), [Piece("p0", 2, (0, 1, None))])
    with pytest.raises(StpError):
        write(job("d", SHAPE, {}), [])


def test_frames_stay_while_later_work_is_interrupted(job):
    def fail(group):
        assert group["frames"].shape[0] == 24
        raise StpError("no more")

    raw_job = job("d", SHAPE, {})
    raw = RawFiles(raw_job.inputs["raw"], raw_job.runtime["raw_roots"])
    how = {"attrs": {"shape": SHAPE, "raw": {}}, "dtype": np.float32, "unit": "pieces"}
    with pytest.raises(StpError, match="no more"):
        write_frames(raw_job, raw, pieces(), decode, then=fail, **how)
    again = write_frames(raw_job, raw, pieces(), decode, then=lambda group: None, **how)
    assert again.extras["pieces resumed"] == 12
    assert len(frames_of(raw_job)) == 24


def decode_or_die(raw, task):
    """Piece 7 kills the process, as the system does when memory is used up."""
    number, count, trap = task
    if trap and trap.exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return decode(raw, (number, count, None))


def test_a_process_that_is_killed_is_one_clear_error(job, tmp_path):
    trap = tmp_path / "trap"
    trap.touch()
    killed = job("d", SHAPE, {}, prepare_workers=2)
    with pytest.raises(StpError, match="prepare_workers"):
        write(killed, pieces(trap), decode_or_die)
    trap.unlink()
    again, whole = job("d", SHAPE, {}), job("d", SHAPE, {})
    write(again, pieces(trap), decode_or_die)
    write(whole, pieces())
    np.testing.assert_array_equal(frames_of(again), frames_of(whole))


def test_killed_in_the_middle_it_goes_on(job, tmp_path):
    trap = tmp_path / "trap"
    trap.touch()
    killed = job("d", SHAPE, {})
    context = multiprocessing.get_context("fork")
    process = context.Process(target=write, args=(killed, pieces(trap), decode_or_die))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    trap.unlink()
    again, whole = job("d", SHAPE, {}), job("d", SHAPE, {})
    assert write(again, pieces(trap), decode_or_die).extras["pieces resumed"] == 7
    write(whole, pieces())
    np.testing.assert_array_equal(frames_of(again), frames_of(whole))


@pytest.mark.parametrize(
    "error",
    [
        StpError("wrong", expected="right", remedy="repair it"),
        ConfigurationError("span is 0", expected="1"),
        RawFileError("a.nc", "cannot be read", expected="a NetCDF file"),
    ],
)
def test_errors_of_worker_processes_arrive_as_they_are(error):
    other = pickle.loads(pickle.dumps(error))
    assert type(other) is type(error) and str(other) == str(error)
    assert (other.what, other.expected, other.remedy) == (error.what, error.expected, error.remedy)
