"""Readers beside a rebuild: each sees a whole store, the old one or the new one."""

import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest
from asking import ask
from small_store import SmallStore, built

READER = """
import sys, time
from pathlib import Path
import duckdb

database, stop = sys.argv[1], Path(sys.argv[2])
seen, asked = set(), 0
while not stop.exists() or not asked:
    with duckdb.connect(database, read_only=True) as store:
        cells = store.execute("SELECT count(*) FROM cells").fetchall()[0][0]
        # Every cell of this store has one overall value, one row of coverage and two samples.
        scored = "SELECT count(*) FROM overall WHERE convention = 'rmse.per_frame'"
        assert store.execute(scored).fetchall() == [(cells,)], "a half of a store"
        assert store.execute("SELECT sum(cells) FROM coverage").fetchall() == [(cells,)]
        assert store.execute("SELECT count(*) FROM sample_scores").fetchall() == [(2 * cells,)]
    seen.add(cells)
    asked += 1
    if asked == 1:
        print("reads", flush=True)
    time.sleep(0.02)
print(*sorted(seen))
"""
REBUILDS = 4


def grown(store: SmallStore, seed: int) -> Path:
    """Add a cell and build the store anew."""
    store.add("convlstm", "enso", {"rmse.per_frame": {"mean": 0.5 + seed}}, seed=seed)
    return built(store)


@pytest.mark.long(part="processes")
def test_readers_never_meet_an_error_or_a_part_while_the_store_is_rebuilt(tmp_path: Path) -> None:
    store = SmallStore(tmp_path)
    database, stop = grown(store, 0), tmp_path / "stop"
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(database), str(stop)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for reader in readers:  # they read before the first rebuild, and go on during all
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reads\n", reader.communicate()[1]
    for seed in range(1, REBUILDS + 1):
        grown(store, seed)
    time.sleep(0.5)  # the last one is read as well
    stop.touch()
    for reader in readers:
        told, errors = reader.communicate(timeout=60)
        assert reader.returncode == 0, errors
        seen = [int(count) for count in told.split()]
        assert len(seen) > 2 and set(seen) <= set(range(1, REBUILDS + 2)), "it read meanwhile"
    assert [path.name for path in tmp_path.glob("*.duckdb*")] == ["results.duckdb"]


def test_who_has_the_store_open_goes_on_with_what_it_has(tmp_path: Path) -> None:
    store = SmallStore(tmp_path)
    with duckdb.connect(str(grown(store, 0)), read_only=True) as reader:
        before = reader.execute("SELECT convention, value FROM scores ORDER BY ALL").fetchall()
        for seed in (1, 2):
            database = grown(store, seed)
        again = reader.execute("SELECT convention, value FROM scores ORDER BY ALL").fetchall()
        assert again == before
        # What it has not read before the rebuild is the old store's as well.
        assert reader.execute("SELECT count(*), max(seed) FROM cells").fetchall() == [(1, 0)]
        assert len(reader.execute("FROM leaderboard").fetchall()) == 1
    assert ask(database, "SELECT count(*) FROM cells") == [(3,)]
