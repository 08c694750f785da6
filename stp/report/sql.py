"""Write the SQL console: a folder beside the report, with the store and an engine to ask it.

DuckDB-WASM, which runs in the page, comes from npm; it is bundled into the folder, so that the
console loads nothing from elsewhere. A page from a disk may not start it, so a web server serves
the folder, such as Python's own; from a disk the page says how.
"""

import json
import shutil
from pathlib import Path
from uuid import uuid4

from stp.collect.opened import opened
from stp.core.disk import writing
from stp.core.errors import StpError
from stp.core.job import Report, silent
from stp.report.npm import installed, run_program
from stp.report.sql_data import Understood, question_for_engine, relations, write_data

PARTS = Path(__file__).parent / "console"
PAGE = ("index.html", "console.js", "console.css", "icon.svg")
ENGINE = (
    "@duckdb/duckdb-wasm/dist/duckdb-eh.wasm",
    "@duckdb/duckdb-wasm/dist/duckdb-browser-eh.worker.js",
    "parquet-wasm/esm/parquet_wasm_bg.wasm",
)
"""Of DuckDB the build with WebAssembly exceptions, which every browser has had since 2022."""


def write_console(
    database: Path, out: Path, packages: Path | None = None, *, report: Report = silent
) -> None:
    """Write the console's folder; one that is there is replaced as a whole.

    Args:
        database: the results store.
        out: the folder, beside the report's index.html.
        packages: folder of npm's packages; by default ``npm`` beside the database.
        report: is told the progress.

    Raises:
        StpError: there is no store, it is damaged, or npm or its registry is missing.
    """
    if out.exists() and not (out / "data" / "store.json").is_file() and any(out.iterdir()):
        raise StpError(
            f"{out}: is not a console",
            expected="a new folder, or the console that it replaces",
            remedy="choose another folder (--out), or remove this one",
        )
    with opened(database) as connection:
        connection.execute("FROM cells LIMIT 0")  # another database has none
        report("packages", 1, 3)
        node = installed(PARTS, packages or database.parent / "npm")
        temporary = out.with_name(f".{out.name}.{uuid4().hex[:12]}.tmp")
        try:
            with writing(out):
                report("engine", 2, 3)
                described = relations(connection)
                understood = _understood(node, question_for_engine(described))
                temporary.mkdir(parents=True)
                _engine(node, temporary)
                for name in PAGE:
                    shutil.copyfile(PARTS / name, temporary / name)
                shutil.copyfile(PARTS.parent / "page" / "page.css", temporary / "page.css")
                report("data", 3, 3)
                write_data(connection, described, understood, temporary / "data")
                _replace(temporary, out)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _understood(node: Path, question: str) -> Understood:
    found = run_program(
        ["node", str(PARTS / "understood.mjs"), str(node.absolute())], node, question
    )
    if found.returncode:
        raise _broken("the engine of the console does not start", found.stderr, node)
    return Understood(**json.loads(found.stdout))


def _engine(node: Path, folder: Path) -> None:
    """Bundle console/engine.mjs with what it imports, and copy what is loaded by itself."""
    modules = node / "node_modules"
    source = (PARTS / "engine.mjs").read_text(encoding="utf-8")
    found = run_program(
        [
            str((modules / ".bin" / "esbuild").absolute()), "--bundle", "--minify",
            "--format=esm", "--target=es2022", "--log-level=error",
            f"--outfile={(folder / 'engine.js').absolute()}",
        ],
        node,
        source,
    )  # fmt: skip
    if found.returncode:
        raise _broken("esbuild could not bundle the console", found.stderr, node)
    for name in ENGINE:
        shutil.copyfile(modules / name, folder / Path(name).name)


def _broken(what: str, said: str, node: Path) -> StpError:
    return StpError(
        f"{what}: {' / '.join(said.strip().splitlines()[-3:])}",
        expected=f"the packages of {PARTS / 'package-lock.json'}, whole, and Node.js 20 or newer",
        remedy=f"delete {node} and run again",
    )


def _replace(new: Path, folder: Path) -> None:
    """Put a folder in the place of another, as nearly in one step as folders allow."""
    old = folder.with_name(f".{folder.name}.{uuid4().hex[:12]}.old")
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
