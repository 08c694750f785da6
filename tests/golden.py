"""Golden numbers: what no change of structure may move, kept outside the repository.

    export STP_GOLDEN=/somewhere STP_RAW_MIRROR=... STP_WEIGHTS_DIR=...
    python tests/golden.py store before [--scale demo] [--made]   # run, and keep the numbers
    python tests/golden.py compare before after                 # exit code 1 where any differs

``store`` makes all tables of each scale with Snakemake and writes one folder for each below
``$STP_GOLDEN/NAME``: every table and view of the results store, the clips of all prepared data, the
epochs that trainings selected, and the lines of each rendered CSV file, as Parquet with the SHA-256
of its sorted rows in the file's metadata. ``--made`` keeps what an earlier run made. Environments
are kept beside the numbers: they are only comparable under the same ``constraints.txt``, mirror,
weights and processor, and ``compare`` prints where these differ.

Fingerprints, paths, times and machines are left out. Settings and variants are compared by their
present names.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
SCALES = (
    *("demo", "sample", "atlas-demo", "atlas-sample"),
    *("fvd-demo", "pvqa-demo", "scv-demo", "chaosbench-demo"),
)
"""The demos of all suites, and what runs on sample files."""
PROVENANCE = {
    *("artefacts", "attempts", "cost", "failures", "lineage", "missing", "raw_files", "runs"),
    *("runtime", "score_rows"),
}
"""Tables of how, where and when results were made, or of numbers that rows of others refer to."""
VOLATILE = re.compile(
    r"fingerprint|folder|commit|started|finished|seconds|(^|_)(number|cell|kind)$"
)
"""Columns with other values for equal results."""
SAMPLE = 2
"""Rows to print of each table that differs."""

Row = tuple[Any, ...]


def golden_folder() -> Path:
    """The folder outside the repository that STP_GOLDEN names."""
    value = os.environ.get("STP_GOLDEN")
    if not value or Path(value).resolve().is_relative_to(ROOT):
        sys.exit("set STP_GOLDEN to a folder outside of the repository")
    return Path(value)


def environment() -> dict[str, str]:
    """What numbers depend on besides the code."""

    def digest(folder: str | None) -> str:
        if not folder:
            return "none"
        sizes = sorted(
            f"{path.relative_to(folder)} {path.stat().st_size}"
            for path in Path(folder).rglob("*")
            if path.is_file()
        )
        return hashlib.sha256("\n".join(sizes).encode()).hexdigest()[:16]

    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "constraints": hashlib.sha256((ROOT / "constraints.txt").read_bytes()).hexdigest()[:16],
        "mirror": digest(os.environ.get("STP_RAW_MIRROR")),
        "weights": digest(os.environ.get("STP_WEIGHTS_DIR")),
        "processor": processor[1] if processor else platform.machine(),
        "python": platform.python_version(),
    }


def write(rows: pa.Table, path: Path) -> None:
    """Write rows in sorted order, with their SHA-256 in the metadata."""
    with duckdb.connect() as memory:
        memory.register("unsorted", rows)
        rows = memory.sql("FROM unsorted ORDER BY ALL").to_arrow_table()
    text = json.dumps(rows.to_pydict(), default=str, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    pq.write_table(rows.replace_schema_metadata({"sha256": digest}), path)


def store(name: str, scale: str) -> None:
    """Keep the numbers of a scale whose tables have been made."""
    target = golden_folder() / name / scale
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.parquet"):
        old.unlink()
    results = ROOT / "results" / scale
    with duckdb.connect(str(results / "results.duckdb"), read_only=True) as database:
        tables = database.sql(
            "SELECT table_name FROM duckdb_tables() UNION ALL "
            "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1"
        ).fetchall()
        for (table,) in tables:
            if table in PROVENANCE:
                continue
            columns = [row[0] for row in database.sql(f'DESCRIBE "{table}"').fetchall()]
            kept = ", ".join(f'"{column}"' for column in columns if not VOLATILE.search(column))
            if kept:
                rows = database.sql(f'SELECT {kept} FROM "{table}"').to_arrow_table()
                write(rows, target / f"store.{table}.parquet")
        artefacts = database.sql("SELECT stage, path, extras FROM artefacts").fetchall()
    clips, selections = [], []
    for stage, path, extras in artefacts:
        address = str(Path(path).parent)
        if stage == "prepare":
            index = ROOT / "results/store" / path / "index.parquet"
            if index.is_file():
                rows = pq.read_table(index).to_pylist()
                clips += [(address, i, json.dumps(rows[i], default=str)) for i in range(len(rows))]
        elif stage == "train":
            selection = json.loads(extras).get("selection")
            selections.append((address, json.dumps(selection, sort_keys=True)))
    lines = [
        (path.name, number, line)
        for path in sorted((results / "tables").glob("*.csv"))
        if path.stem not in PROVENANCE
        for number, line in enumerate(path.read_text().splitlines())
    ]
    for table, columns, rows in (
        ("clips", ("data", "number", "clip"), clips),
        ("selections", ("training", "selection"), selections),
        ("tables", ("file", "line", "text"), lines),
        ("environment", ("of", "value"), list(environment().items())),
    ):
        arrays = [pa.array([row[i] for row in rows]) for i in range(len(columns))]
        write(pa.table(arrays, names=list(columns)), target / f"{table}.parquet")
    print(f"{scale}: {len(list(target.glob('*.parquet')))} tables in {target}")


def present_names(column: str) -> str:
    """SQL of a column in which old names of settings and variants are today's."""
    if column in ("setting", "variant", "other_variant", "data", "training"):
        return f"replace(\"{column}\"::VARCHAR, ',', '+') AS \"{column}\""
    return f'"{column}"'


def print_unlike_columns(columns: list[str], old: list[Row], new: list[Row]) -> None:
    """Print in how many of the sorted rows each column differs, and by how much its numbers do."""
    for number, column in enumerate(columns):
        pairs = [(a[number], b[number]) for a, b in zip(old, new, strict=True)]
        unlike = [(a, b) for a, b in pairs if repr(a) != repr(b)]
        numbers = [pair for pair in unlike if all(isinstance(value, float) for value in pair)]
        if not unlike:
            continue
        said = f"{len(unlike)}, first {unlike[0][0]!r} -> {unlike[0][1]!r}"
        if numbers:
            largest = max(abs(a - b) / (max(abs(a), abs(b)) or 1) for a, b in numbers)
            said += f"; {len(numbers)} are numbers, at most {largest:.1e} apart"
        print(f"    {column}: {said}")


def compare(before: Path, after: Path) -> int:
    """Print what differs between two folders of a scale; return how many tables do."""
    differing = 0
    names = sorted({p.name for folder in (before, after) for p in folder.glob("*.parquet")})
    for name in names:
        old, new = before / name, after / name
        if not (old.is_file() and new.is_file()):
            print(f"  {name}: only {'before' if old.is_file() else 'after'}")
            differing += 1
            continue
        digests = [pq.read_schema(path).metadata[b"sha256"] for path in (old, new)]
        if digests[0] == digests[1]:
            continue
        schemas = [pq.read_schema(path).names for path in (old, new)]
        shared = [column for column in schemas[0] if column in schemas[1]]
        for sign, columns, others in (("-", *schemas), ("+", *reversed(schemas))):
            if surplus := [column for column in columns if column not in others]:
                print(f"  {name}: {sign} columns {', '.join(surplus)}")
        if not shared:
            differing += 1
            continue
        selected = ", ".join(map(present_names, shared))
        with duckdb.connect() as memory:
            rows = {
                sign: memory.sql(
                    f"SELECT {selected} FROM read_parquet('{one}') EXCEPT ALL "
                    f"SELECT {selected} FROM read_parquet('{other}') ORDER BY ALL"
                ).fetchall()
                for sign, one, other in (("-", old, new), ("+", new, old))
            }
        if any(rows.values()):
            differing += 1
            print(f"  {name}: {len(rows['-'])} rows went, {len(rows['+'])} came")
            if len(rows["-"]) == len(rows["+"]):
                print_unlike_columns(shared, rows["-"], rows["+"])
            for sign, some in rows.items():
                for row in some[:SAMPLE]:
                    print(f"    {sign} {row}")
    return differing


def main() -> None:
    """Store the numbers of scales, or compare two stored sets."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    storing = commands.add_parser("store")
    storing.add_argument("name")
    storing.add_argument("--made", action="store_true", help="tables are made already")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before")
    comparing.add_argument("after")
    for command in (storing, comparing):
        command.add_argument("--scale", action="append", choices=SCALES)
    given = parser.parse_args()
    if given.command == "store":
        for scale in given.scale or SCALES:
            if not given.made:
                snakemake = [str(Path(sys.executable).with_name("snakemake")), "--profile", "local"]
                scale_file = ["--configfile", f"config/{scale}.yaml"]
                tables = [*scale_file, "--", "results/tables/all"]
                subprocess.run([*snakemake, *tables], cwd=ROOT, check=True)
            store(given.name, scale)
        return
    differing = 0
    for scale in given.scale or SCALES:
        before, after = (golden_folder() / name / scale for name in (given.before, given.after))
        if before.is_dir() or after.is_dir():
            print(f"{scale}:")
            differing += compare(before, after)
    print(f"{differing} tables differ")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
