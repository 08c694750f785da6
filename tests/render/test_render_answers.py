"""What verbs print: golden texts, machine formats, colours on terminals only, exit codes.

After a change that is meant, ``STP_WRITE_ANSWERS=1 pytest tests/render/test_render_answers.py``
writes the golden texts anew; read them before they are committed.
"""

import csv
import fcntl
import html
import io
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import answer_store
import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest
from parts import long_except
from typer.testing import CliRunner, Result

from stp.cli import app, main
from stp.collect import schema
from stp.render.tables.paper_table import render_table
from stp.render.tables.table_catalog import tables

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ESCAPE = "\x1b["


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return answer_store.build(tmp_path_factory.mktemp("answers"))


def asked(results: Path, *arguments: str) -> list[str]:
    """A command line that asks this store."""
    if arguments[0] == "compare":
        return [*arguments, "--results", str(results)]
    return [*arguments, "--database", str(results / "results.duckdb")]


def ask(results: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, asked(results, *arguments))


def printed(results: Path, *arguments: str) -> str:
    done = ask(results, *arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


VERBS = {
    "query": ["query", "SELECT model, seed, value, reason FROM overall ORDER BY ALL"],
    "store": ["list", "store", "models"],
    "tables": ["table"],
    "table": ["table", "short_term"],
    "compare": ["compare", "persistence", "convlstm"],
    "cell": ["trace", "convlstm/moving_mnist/seed-1"],
    "artefact": ["trace", "d0000"],
    "trace": ["trace", "0.742"],
}


@pytest.mark.parametrize("name", VERBS)
def test_each_verb_prints_what_it_did(results: Path, name: str) -> None:
    text = printed(results, *VERBS[name]).replace(str(results), "RESULTS")
    text = re.sub(r"\d\d\.\d kB", "##.# kB", text)  # other versions of Parquet write other sizes
    golden = HERE / "answers" / f"{name}.txt"
    if os.environ.get("STP_WRITE_ANSWERS"):
        golden.write_text(text)
    assert text == golden.read_text()


def test_commands_that_answers_name_can_be_called(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "demo").symlink_to(results)
    answers = [printed(results, *words, "-f", "markdown") for words in VERBS.values()]
    path = results / "collected" / "short_term.json"
    render_table(path, results / "results.duckdb", tmp_path / "short_term.csv")
    answers += [(tmp_path / f"short_term.{ending}").read_text() for ending in ("md", "html")]
    named = re.findall(r"(?:`|<code>)((?:stp|snakemake) [^`<]+)(?:`|</code>)", "\n".join(answers))
    commands = {html.unescape(one) for one in named if "NAME" not in one}
    assert {one.split()[0] for one in commands} == {"stp", "snakemake"}
    monkeypatch.chdir(tmp_path)
    for command in commands:
        program, *words = shlex.split(command)
        if program == "stp":
            answer = CliRunner().invoke(app, words)
            assert answer.exit_code == 0, command
        else:
            assert (ROOT / words[words.index("--configfile") + 1]).is_file(), command


# --- A table of the paper -------------------------------------------------------------------------


def tidy(results: Path, *more: str) -> list[dict[str, Any]]:
    return json.loads(printed(results, "table", "short_term", "-f", "json", *more))


def test_a_narrowed_table_has_the_same_numbers(results: Path) -> None:
    whole = tidy(results)
    assert {row["tested_on"] for row in whole} == {"moving_mnist", "cityscapes"}
    for more, of_it in (
        (["--cell", "moving_mnist"], lambda row: row["tested_on"] == "moving_mnist"),
        (["--cell", "cityscapes"], lambda row: row["tested_on"] == "cityscapes"),
        (["--metric", "ssim"], lambda row: row["column"] == "SSIM"),
        (["--metric", "lpips.alex"], lambda row: row["column"] == "LPIPS"),
        (["--cell", "ConvLSTM"], lambda row: row["model"] == "convlstm"),
    ):
        narrowed = tidy(results, *more)
        assert narrowed and narrowed == [row for row in whole if of_it(row)]


def test_the_one_model_that_is_shown_keeps_its_rank(results: Path) -> None:
    (row,) = tidy(results, "--metric", "SSIM", "--cell", "convlstm/moving_mnist")
    assert row["rank"] == 2 and row["best"] == "SimVPv2" and row["seeds"] == 2
    values = [answer_store.scores("convlstm", seed).mean() for seed in (0, 1)]
    assert row["value"] == pytest.approx(np.mean(values), rel=1e-12)
    assert row["seed_sd"] == pytest.approx(np.std(values, ddof=1), rel=1e-9)


def test_the_page_lists_every_table_that_is_documented() -> None:
    page = (ROOT / "docs" / "tables.md").read_text()
    assert sorted(re.findall(r"^\| `results/tables/(\w+)\.csv`", page, re.MULTILINE)) == sorted(
        tables()
    )


@pytest.mark.long(part="kinds")
def test_a_table_of_a_run_comes_from_its_files(results: Path) -> None:
    folder = results / "tables"
    folder.mkdir(exist_ok=True)
    (folder / "model_size.md").write_text("# Sizes\n")
    (folder / "model_size.csv").write_text("model,parameters\nsimvpv2,46769665\n")
    try:
        assert printed(results, "table", "model_size") == "# Sizes\n"
        rows = json.loads(printed(results, "table", "model_size", "-f", "json"))
        assert rows == [{"model": "simvpv2", "parameters": 46769665}]
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
    done = ask(results, "table", "model_size")
    assert done.exit_code == 1 and "snakemake" in str(done.exception)


# --- A cell ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what",
    [
        "short_term/convlstm/moving_mnist/seed-1",
        "moving_mnist/ConvLSTM/seed-1",
        "a000000000000002",
        "e000000000000002",
        "b000000000000002",
        "scores/anything/a000000000000002",
    ],
)
def test_a_cell_is_found_by_words_and_by_fingerprints(results: Path, what: str) -> None:
    assert printed(results, "trace", what).startswith("short_term/convlstm/moving_mnist/seed-1\n")


def test_a_cell_as_json_is_all_that_is_known(results: Path) -> None:
    known = json.loads(printed(results, "trace", "simvpv2/moving_mnist", "-f", "json"))
    assert known["cell"]["source"] == "synthetic"
    scores = {row["convention"]: row for row in known["scores"]}
    mean = answer_store.scores("simvpv2", 0).mean()
    assert scores["ssim.range2"]["value"] == pytest.approx(mean, rel=1e-15)
    assert (scores["ssim.range2"]["rank"], scores["ssim.range2"]["ranked"]) == (1, 3)
    assert scores["lpips.alex"]["reason"] == "the weights of alexnet are not there"
    assert [step["stage"] for step in known["artefacts"]] == [
        "prepare",
        "model",
        "predictions",
        "score",
    ]
    folder = known["cell"]["scores_folder"]
    assert known["command"].endswith(f"-- {folder}/artefact.json")


@pytest.mark.long(part="kinds")
def test_a_cell_without_scores_says_why(results: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results.duckdb"
    copy.write_bytes((results / "results.duckdb").read_bytes())
    of_cells = {name for name, *_ in schema.CELLS.columns} - {"model", "seed"}
    shared = [name for name, *_ in schema.MISSING.columns if name in of_cells]
    with duckdb.connect(str(copy)) as database:
        database.execute(
            f"INSERT INTO missing BY NAME SELECT {', '.join(shared)}, 'tau' AS model, 7 AS seed, "
            "'train' AS stage, 'out of memory' AS how, 'Slurm says so' AS detail, "
            "'models/x' AS path FROM cells LIMIT 1"
        )
        database.execute(
            "INSERT INTO attempts BY NAME SELECT 'models/x' AS path, 1 AS attempt, "
            "'out of memory' AS how, 'node7' AS host, 1800.0 AS seconds, 3990.0 AS peak_mb"
        )
    done = CliRunner().invoke(app, ["trace", "tau/moving_mnist", "--database", str(copy)])
    assert done.exit_code == 3
    assert done.output.startswith("short_term/tau/moving_mnist/seed-7\n")
    for value in ("out of memory", "Slurm says so", "node7", "30:00 min", "3990"):
        assert value in done.output


@pytest.mark.parametrize(
    ("what", "code", "words"),
    [
        ("convlstm/moving_mnist", 1, "short_term/convlstm/moving_mnist/seed-1"),
        ("a000", 1, "a000"),
        ("convlstm/moving_mnits", 3, "moving_mnist"),
        ("ffff", 3, "ffff"),
        ("moving_mnits", 3, "moving_mnist"),
    ],
)
def test_what_is_no_single_cell_is_answered(
    results: Path,
    what: str,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert code_of(results, monkeypatch, "trace", what) == code
    assert words in capsys.readouterr().err


def test_a_cell_selects_values_of_numbers_only(results: Path) -> None:
    assert ask(results, "trace", "simvpv2/moving_mnist", "--cell", "kth").exit_code == 2


# --- A number -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "kinds"),
    [
        ("0.7429", ["value"]),
        ("0.7419", ["mean over seeds"]),
        ("0.9404", ["published"]),
        ("+0.05340", ["difference"]),
        ("0.7529", ["lead"]),
    ],
)
def test_a_number_says_what_it_is(results: Path, number: str, kinds: list[str]) -> None:
    found = json.loads(printed(results, "trace", number, "-f", "json"))
    assert sorted({match["kind"] for match in found}) == kinds


# --- Formats --------------------------------------------------------------------------------------

TYPED = """SELECT 1 / 3::DOUBLE AS third, TIMESTAMP '2020-02-29 12:00:00' AS moment,
    [1, NULL, 3]::BIGINT[] AS list, '{"a": 1}'::JSON AS recipe, NULL::BIGINT AS nothing"""


@pytest.mark.long(part="kinds")
def test_parquet_keeps_the_types_of_the_database(results: Path, tmp_path: Path) -> None:
    path = tmp_path / "typed.parquet"
    assert printed(results, "query", TYPED, "--out", str(path)) == ""
    described = duckdb.sql(f"DESCRIBE FROM '{path}'").fetchall()
    assert [kind for _, kind, *_ in described] == [
        "DOUBLE",
        "TIMESTAMP",
        "BIGINT[]",
        "JSON",
        "BIGINT",
    ]
    assert duckdb.sql(f"SELECT third, list FROM '{path}'").fetchall() == [(1 / 3, [1, None, 3])]
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "name",
    long_except(
        ["query", "cell"],
        ["query", "store", "tables", "table", "compare", "cell", "trace"],
        part="kinds",
    ),
)
def test_every_verb_has_every_format(results: Path, tmp_path: Path, name: str) -> None:
    verb = VERBS[name]
    rows = list(csv.DictReader(io.StringIO(printed(results, *verb, "-f", "csv"))))
    paths = {end: tmp_path / f"rows.{end}" for end in ("csv", "json", "md", "parquet", "txt")}
    for path in paths.values():
        assert printed(results, *verb, "--out", str(path)) == "", "the file has it all"
    assert list(csv.DictReader(io.StringIO(paths["csv"].read_text()))) == rows and rows
    table = pq.read_table(paths["parquet"])
    assert table.num_rows == len(rows) and table.column_names == list(rows[0])
    said = json.loads(paths["json"].read_text())
    assert len(said["scores"] if name == "cell" else said) == len(rows)
    assert "|---" in paths["md"].read_text().replace("| ---", "|---")
    assert ESCAPE not in paths["txt"].read_text()


def test_machine_formats_keep_all_digits(results: Path, tmp_path: Path) -> None:
    difference = (
        np.mean([answer_store.scores("convlstm", seed).mean() for seed in (0, 1)])
        - answer_store.scores("persistence", None).mean()
    )
    path = tmp_path / "compared.parquet"
    printed(results, *VERBS["compare"], "--out", str(path))
    (row,) = pq.read_table(path).to_pylist()
    assert row["b_minus_a"] == pytest.approx(difference, rel=1e-12)
    (same,) = csv.DictReader(io.StringIO(printed(results, *VERBS["compare"], "-f", "csv")))
    assert float(same["p"]) == row["p"] and float(same["b_minus_a"]) == row["b_minus_a"]


def test_a_file_that_cannot_be_written_leaves_nothing(results: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.csv"
    kept.write_text("before")
    done = ask(results, "query", "FROM nowhere", "--out", str(kept))
    assert "nowhere" in str(done.exception)
    for wrong in (["-f", "parquet"], ["--out", "answer.xyz"]):
        assert ask(results, "query", "FROM cells", *wrong).exit_code == 2
    assert kept.read_text() == "before" and list(tmp_path.iterdir()) == [kept]


# --- Terminals ------------------------------------------------------------------------------------


def on_terminal(results: Path, *arguments: str, columns: int = 100, **more: str) -> str:
    """What a terminal of so many columns shows, with its escape sequences."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "TERM")}
    process = subprocess.Popen(
        [sys.executable, "-c", "from stp.cli import main; main()", *asked(results, *arguments)],
        stdout=theirs,
        stdin=theirs,
        cwd=ROOT,
        env={**kept, "TERM": "xterm-256color", **more},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux says so when nobody writes any more
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    return shown.decode().replace("\r\n", "\n")


@pytest.mark.long(part="kinds")
def test_the_best_is_bold_on_a_terminal_and_nowhere_else(results: Path) -> None:
    shown = on_terminal(results, "table", "short_term", "--cell", "moving_mnist")
    assert f"{ESCAPE}1;32m0.7528" in shown and f"{ESCAPE}4m0.7419" in shown
    plain = on_terminal(results, "trace", "simvpv2/moving_mnist", NO_COLOR="1")
    assert f"{ESCAPE}1m0.7528" in plain and not re.search(r"\x1b\[[\d;]*3\dm", plain)
    piped = subprocess_of(results, "trace", "simvpv2/moving_mnist", FORCE_COLOR="1").stdout
    assert ESCAPE not in piped and "**0.7528**" in piped


@pytest.mark.long(part="kinds")
def test_a_wide_answer_fits_a_narrow_terminal(results: Path) -> None:
    sql = "SELECT * FROM overall ORDER BY ALL"
    shown = on_terminal(results, "query", sql, columns=60)
    lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in shown.splitlines()]
    assert max(len(line) for line in lines) <= 60
    # The columns are all there, in tables below each other, in the width that COLUMNS names.
    wider = on_terminal(results, "query", sql, columns=60, COLUMNS="90")
    assert 60 < max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in wider.splitlines()) <= 90
    for column in ("suite", "convention", "ci95_high", "scores_fingerprint"):
        assert column in shown


# --- Exit codes -----------------------------------------------------------------------------------


def subprocess_of(results: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from stp.cli import main; main()", *asked(results, *arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **more},
    )


def code_of(results: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of a command line, without a process of its own."""
    monkeypatch.setattr(sys, "argv", ["stp", *asked(results, *arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["query", "FROM cells WHERE false"]),
        (3, ["query", "FROM cells WHERE false", "--fail-if-empty"]),
        (1, ["query", "FROM nowhere"]),
        (2, ["query", "FROM cells", "--format", "xml"]),
        (3, ["trace", "twelve"]),
        (3, ["trace", "123.456"]),
        (0, ["compare", "convlstm", "simvpv2"]),
        (3, ["compare", "convlstm", "simvpv2", "--fail-if-alike"]),
        (0, ["compare", "convlstm", "persistence", "--fail-if-alike"]),
        (3, ["compare", "convlstm", "tau"]),
        (1, ["table", "robustness"]),
        (1, ["table", "nothing"]),
        (2, ["table", "findings", "--cell", "kth"]),
        (3, ["table", "short_term", "--cell", "kth"]),
    ],
)
def test_exit_codes_are_those_of_the_help(
    results: Path,
    code: int,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert code_of(results, monkeypatch, *arguments) == code
    assert "Traceback" not in capsys.readouterr().err
