"""Damaged files are read correctly or refused with an error, in bounded time and memory.

The short form runs with all tests; the long one is `make test PARTS=fuzz`. Both are seeded: a case
of a number is the same file each time.
"""

import os
from pathlib import Path

import pytest
from mutate import try_many
from readers import READERS

SHORT = 8
LOOPS = ("NetCDF", "NetCDF, own data")
"""Readers where HDF5 loops forever in a few files: those with a damaged heap of attributes."""
MANY = int(os.environ.get("STP_FUZZ_CASES", "1000"))


@pytest.fixture
def whole(tmp_path: Path, name: str) -> Path:
    """An undamaged file of a reader."""
    path = tmp_path / READERS[name].name
    READERS[name].write(path)
    return path


def run(whole: Path, name: str, cases: int, first: int = 0) -> None:
    outcome = try_many(whole, READERS[name].read, cases, name, first)
    counted = f"read {outcome.counts['read']}, refused {outcome.counts['refused']}"
    counted += f", stuck {len(outcome.stuck)}"
    print(f"{name}: {cases} files: {counted}, slowest {outcome.slowest:.2f} s")
    assert len(outcome.stuck) <= (cases / 100 if name in LOOPS else 0), outcome.stuck
    assert not outcome.wrong, f"{len(outcome.wrong)} of {cases}\n" + "\n".join(outcome.wrong[:5])
    assert sum(outcome.counts.values()) == cases - len(outcome.stuck)


@pytest.mark.parametrize("name", READERS)
def test_a_whole_file_is_read(whole: Path, name: str):
    folder = whole.parent / "damaged"  # as receipts are named
    folder.mkdir()
    READERS[name].read(whole.rename(folder / whole.name))


@pytest.mark.parametrize("name", READERS)
def test_a_few_damaged_files_are_read_correctly_or_refused(whole: Path, name: str):
    run(whole, name, SHORT)


@pytest.mark.long(part="fuzz")
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", READERS)
def test_many_damaged_files_are_read_correctly_or_refused(whole: Path, name: str):
    run(whole, name, MANY, first=SHORT)
