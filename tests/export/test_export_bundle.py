"""A submission bundle: whole, the same every time, without secrets; what is damaged is refused."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml
from exported_store import LOCK, make_results
from old_store import as_before
from typer.testing import CliRunner

from stp.cli import app
from stp.collect.query import query_rows
from stp.core.errors import StpError
from stp.export.bundle import Options, export
from stp.export.checking import MANIFEST, check
from stp.export.contents import RESULTS, ResultRow

EVERYTHING = Options(samples=True, checkpoints=True)
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "export.md"


@pytest.fixture(scope="module")
def made(database) -> Path:
    """A bundle as a folder."""
    export(database, "convlstm", database.parent / "bundle", EVERYTHING)
    return database.parent / "bundle"


@pytest.fixture
def bundle(made, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "bundle"))


def test_scores_are_those_of_the_score_artefacts(made, database):
    """Compared with the files that `score` wrote, without the database between."""
    rows = pq.read_table(made / "scores.parquet").to_pylist()
    found = {
        (row["seed"], row["convention"], row["lead"], name): row[name]
        for row in rows
        for name in ("value", "ci95_low", "ci95_high", "n")
    }
    statistics = {"mean": "value", "ci95_low": "ci95_low", "ci95_high": "ci95_high"}
    compared = 0
    for path in (database.parent / "store" / "scores").glob("**/convlstm/**/scores.parquet"):
        for score in pq.read_table(path).to_pylist():
            key = (score["seed"], score["convention"], score["lead"])
            assert found[*key, statistics[score["statistic"]]] == score["value"]
            if score["statistic"] == "mean":
                assert found[*key, "n"] == score["n"]
            compared += 1
    assert compared == 2 * (2 + 2 + 2)  # seeds; means, leads and ends of the interval
    assert {row["model"] for row in rows} == {"convlstm"}
    with duckdb.connect() as plain:
        same = plain.execute(
            f"SELECT count(*) FROM '{made}/scores.csv' c JOIN '{made}/scores.parquet' p "
            "ON c.seed = p.seed AND c.convention = p.convention AND c.value = p.value "
            "AND c.lead IS NOT DISTINCT FROM p.lead"
        ).fetchone()
    assert same == (6,)


@pytest.mark.long(part="kinds")
def test_the_same_store_gives_the_same_bytes_wherever_it_lies(tmp_path):
    digests = set()
    for place in ("here", "somewhere/else"):
        database = make_results(tmp_path / place, "no weights")
        for name in ("first", "again"):
            out = tmp_path / place / name / "convlstm.zip"
            export(database, "convlstm", out, EVERYTHING)
            digests.add(hashlib.sha256(out.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_nothing_of_the_machine_or_the_person_is_in_it(made, database):
    secrets = [str(database.parent), "node-of-mine", "erika", "job-4711"]
    texts = {path.name: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    table = pq.read_table(made / "scores.parquet")
    texts["rows"] = json.dumps(table.to_pylist()).encode()
    for name, text in texts.items():
        assert not [secret for secret in secrets if secret.encode() in text], name
    reasons = pc.unique(table["reason"]).to_pylist()
    assert "cannot read alexnet.pt" in reasons, "the reason is kept, without the folders"


def test_an_interval_of_one_seed_is_not_that_of_two(database, tmp_path):
    path = shutil.copy(database, tmp_path / "results.duckdb")
    with duckdb.connect(str(path)) as store:
        ends = "SELECT number FROM score_kinds WHERE statistic = 'ci95_low'"
        store.execute(f"UPDATE score_rows SET value = NULL WHERE value < 0.5 AND kind IN ({ends})")
    (row,) = [
        r for r in query_rows(Path(path), ResultRow, RESULTS, ["convlstm"]) if r.metric == "SSIM"
    ]
    assert (row.value, row.low, row.high) == (0.52, None, pytest.approx(0.54))


def test_the_card_says_what_must_be_known(made):
    card = (made / "README.md").read_text()
    assert "# ConvLSTM" in card and "NOT COMPARABLE" in card
    assert "12,345 parameters" in card
    # the mean of the seeds, the sd of .50 and .54, the mean of both intervals
    row = next(line for line in card.splitlines() if "`ssim.range2`" in line)
    assert "| 0.5200 (sd 0.02828 of 2 seeds) | [0.5000, 0.5400] | 200 | 1 of 2 |" in row
    assert "synthetic, demo protocol, NOT COMPARABLE" in row
    assert "batch size 4 (paper: 16)" in card and "epochs 2 (paper: 200)" in card
    assert "learning rate" not in card, "it is as printed"
    assert "`lpips.alex`: cannot read alexnet.pt" in card
    assert "short_term: CityScapes" in card, "the paper has more than the store"
    assert "MNIST: CC BY-SA 3.0" in card and "Shi, X." in card
    assert "commit `4b2fd97`" in card
    (command, *_) = re.findall(r"snakemake --profile local .*artefact.json", card)
    receipts = json.loads((made / "receipts.json").read_text())
    paths = [receipt["path"] for receipt in receipts if receipt["stage"] == "score"]
    assert any(f"results/store}}/{path}/artefact.json" in command for path in paths)


def test_what_is_behind_the_scores_is_named(made):
    receipts = json.loads((made / "receipts.json").read_text())
    assert [one["stage"] for one in receipts].count("train") == 2
    assert f"{LOCK},moving_mnist,synthetic,synthetic,mnist/train.gz,3,{'f' * 64}" in (
        made / "raw_files.csv"
    ).read_text().replace("\r", "")
    recipes = yaml.safe_load((made / "configuration.yaml").read_text())["recipes"]
    trained = next(one for one in receipts if one["stage"] == "train")
    assert recipes[trained["path"]]["train"]["epochs"] == 2
    # The checkpoint is the file of the store, and listed as such.
    copy = made / "checkpoints" / trained["path"] / "model.pt"
    digest = hashlib.sha256(copy.read_bytes()).hexdigest()
    assert digest in (made / "checkpoints.csv").read_text()
    assert "SHA-256" in (made / "README.md").read_text()


@pytest.fixture(scope="module")
def official(tmp_path_factory) -> Path:
    """A bundle of results on official data, in which a reason looks like a formula."""
    folder = tmp_path_factory.mktemp("official")
    database = make_results(folder / "results", "=HYPERLINK(0)", official=True)
    export(database, "convlstm", folder / "bundle")
    return folder / "bundle"


def test_only_official_bytes_under_the_papers_protocol_have_a_difference(made, official):
    manifest = check(official).manifest
    assert (manifest.comparable_cells, manifest.sources) == (2, ("official",))
    card = (official / "README.md").read_text()
    assert "NOT COMPARABLE" not in card
    # The paper prints 0.9290; ours is the mean of 0.50 and 0.54.
    assert "| 0.9290 (difference -0.409) |" in card
    assert "| 0.9290 |" in (made / "README.md").read_text(), "synthetic bytes have none"


def test_a_model_without_a_training_has_a_bundle_too(database, tmp_path):
    manifest = export(database, "persistence", tmp_path / "p.zip", EVERYTHING).manifest
    assert (manifest.cells, manifest.checkpoints) == (1, False)
    with zipfile.ZipFile(tmp_path / "p.zip") as archive:
        card = archive.read("p/README.md").decode()
    assert "The stp authors" in card


def relist(bundle: Path) -> None:
    """Write the list of files anew, as somebody would who changes numbers."""
    path = bundle / MANIFEST
    described = json.loads(path.read_text())
    for name, entry in described["files"].items():
        data = (bundle / name).read_bytes()
        entry.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    path.write_text(json.dumps(described))


def change_scores(bundle: Path, column: str, values: list, kind: pa.DataType) -> None:
    path = bundle / "scores.parquet"
    table = pq.read_table(path)
    array = pa.array((values + table[column].to_pylist()[len(values) :])[: len(table)], kind)
    index = table.schema.get_field_index(column)
    pq.write_table(table.set_column(index, column, array), path)
    relist(bundle)


def double(bundle: Path) -> None:
    for name in ("scores.parquet", "scores.csv"):
        path = bundle / name
        if name.endswith("csv"):
            header, first, *rest = path.read_text().splitlines(keepends=True)
            path.write_text("".join([header, first, first, *rest]))
        else:
            table = pq.read_table(path)
            pq.write_table(pa.concat_tables([table.slice(0, 1), table]), path)
    described = json.loads((bundle / MANIFEST).read_text())
    (bundle / MANIFEST).write_text(json.dumps({**described, "rows": described["rows"] + 1}))
    relist(bundle)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def edit_manifest(bundle: Path, **keys) -> None:
    described = json.loads((bundle / MANIFEST).read_text())
    (bundle / MANIFEST).write_text(json.dumps({**described, **keys}))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda b: flip(b / "scores.parquet"), "scores.parquet"),
        (lambda b: (b / "receipts.json").write_text("{}"), "receipts.json"),
        (lambda b: (b / "cells.csv").unlink(), "cells.csv"),
        (lambda b: (b / "more.txt").write_text("?"), "more.txt"),
        (lambda b: (b / "link").symlink_to("/etc/hostname"), "link"),
        (lambda b: (b / MANIFEST).unlink(), "MANIFEST.json"),
        (lambda b: (b / MANIFEST).write_text("{"), "MANIFEST.json"),
        (lambda b: edit_manifest(b, files={}), "does not list README.md"),
        (lambda b: edit_manifest(b, version=1), "is of version 1 of its format"),
        (lambda b: edit_manifest(b, format="other"), "is a 'other'"),
        (lambda b: edit_manifest(b, rows=7), "has 8 rows, scores.csv 8"),
        (
            lambda b: change_scores(b, "value", [float("nan")], pa.float64()),
            "1 values that are not finite",
        ),
        (
            lambda b: change_scores(b, "ci95_low", [float("inf")], pa.float64()),
            "1 values that are not finite",
        ),
        (
            lambda b: change_scores(b, "reason", [None] * 9, pa.string()),
            "2 missing values without a reason",
        ),
        (lambda b: change_scores(b, "model", ["tau"], pa.string()), "1 rows of another model"),
        (lambda b: change_scores(b, "n", [], pa.int32()), "has other columns: n"),
        (double, "one value 2 times"),
    ],
)  # fmt: skip
def test_what_is_not_whole_is_refused_with_one_error(bundle, damage, complaint):
    damage(bundle)
    with pytest.raises(StpError, match=re.escape(complaint)) as refused:
        check(bundle)
    assert str(bundle) in str(refused.value) and "stp store export" in str(refused.value)


def change_text(bundle: Path, name: str, old: str, new: str) -> None:
    text = (bundle / name).read_text()
    assert old in text
    (bundle / name).write_text(text.replace(old, new))
    relist(bundle)


def call_official(bundle: Path) -> None:
    """In all files but the receipts."""
    for name in ("cells.csv", "scores.csv"):
        change_text(bundle, name, "synthetic", "official")
    edit_manifest(bundle, sources=["official"])
    change_scores(bundle, "source", ["official"] * 99, pa.string())


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda b: edit_manifest(b, cells=99_999), "cells 99999"),
        (lambda b: edit_manifest(b, comparable_cells=1), "comparable_cells 1"),
        (lambda b: edit_manifest(b, sources=["official"]), "sources ['official']"),
        (lambda b: edit_manifest(b, checkpoints=False), "checkpoints False"),
        (call_official, "official data of moving_mnist"),
        (lambda b: change_scores(b, "source", ["official"], pa.string()), "official data"),
        (lambda b: change_scores(b, "comparable", [True], pa.bool_()), "comparable True"),
        (lambda b: change_scores(b, "protocol", ["other"], pa.string()), "protocol other"),
        (lambda b: change_scores(b, "ci95_low", [0.9] * 2, pa.float64()), "the interval [0.9,"),
        (lambda b: change_scores(b, "n", [-1], pa.int64()), "n -1"),
        (lambda b: change_scores(b, "convention", ["ssim.x"], pa.string()), "have ssim.x"),
        (lambda b: change_scores(b, "scores_fingerprint", ["x"], pa.string()), "scores x"),
        (lambda b: change_text(b, "scores.csv", ",0.5,", ",0.4,"), "value '0.4'"),
        (lambda b: change_text(b, "checkpoints.csv", "/model.pt", "/other.pt"), "checkpoints.csv"),
        (lambda b: change_text(b, "receipts.json", '"fingerprint"', '"name"'), "of an export"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_refused(bundle, change, complaint):
    change(bundle)
    with pytest.raises(StpError) as refused:
        check(bundle)
    assert complaint in f"{refused.value}"


def test_no_text_of_a_bundle_is_run_by_a_spreadsheet(official):
    assert ",'=HYPERLINK(0)" in (official / "scores.csv").read_text()
    rows = pq.read_table(official / "scores.parquet").to_pylist()
    assert "=HYPERLINK(0)" in {row["reason"] for row in rows}


def test_a_zip_file_that_is_cut_short_or_changed_is_refused(database, tmp_path):
    whole = tmp_path / "whole.zip"
    export(database, "convlstm", whole)
    data = whole.read_bytes()
    told = check(whole)
    assert told.manifest.model == "convlstm"
    step = len(data) // 23
    for place in range(0, len(data) - 1, step):
        cut = tmp_path / "cut.zip"
        cut.write_bytes(data[:place])
        with pytest.raises(StpError):
            check(cut)
        changed = bytearray(data)
        changed[place] ^= 0xFF
        cut.write_bytes(changed)
        try:
            assert check(cut).identity == told.identity  # a byte that nobody reads
        except StpError:
            continue


def test_only_whole_checkpoints_are_handed_on_and_nothing_half_written_stays(database, tmp_path):
    checkpoint = next((database.parent / "store" / "models").rglob("model.pt"))
    out = tmp_path / "out" / "bundle.zip"
    flip(checkpoint)
    try:
        with pytest.raises(StpError, match=re.escape(f"{checkpoint}: damaged")):
            export(database, "convlstm", out, EVERYTHING)
        assert list(out.parent.iterdir()) == []
        export(database, "convlstm", out)  # without it, nobody reads it
    finally:
        flip(checkpoint)


def test_wrong_names_are_answered(database, tmp_path):
    with pytest.raises(StpError, match=r"(?s)convlst\b.*convlstm"):
        export(database, "convlst", tmp_path / "b")
    (tmp_path / "b").mkdir()
    with pytest.raises(StpError, match=str(tmp_path / "b")):
        export(database, "convlstm", tmp_path / "b")
    with pytest.raises(StpError, match=r"c\.zip"):
        check(tmp_path / "c.zip")
    (tmp_path / "text.zip").write_text("no zip file")
    with pytest.raises(StpError, match=r"text\.zip"):
        check(tmp_path / "text.zip")


def stp(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from stp.cli import main; main()", *words],
        cwd=folder,
        capture_output=True,
        text=True,
    )


@pytest.mark.long(part="docs")
def test_a_receiver_queries_it_beside_their_own_results(database, tmp_path):
    """The commands and queries of docs/export.md, as they stand there."""
    theirs = Path(shutil.copytree(database.parent, tmp_path / "elsewhere")) / database.name
    done = stp(theirs.parent, "store", "export", "--model", "convlstm", "--out", "simvpv2.zip",
               "--database", str(theirs))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "0 of 2 comparable" in done.stdout and "named only" in done.stdout
    folder = Path(shutil.copytree(database.parent, tmp_path / "results"))
    assert (
        stp(folder, "store", "export", "--check", str(theirs.parent / "simvpv2.zip")).returncode
        == 0
    )
    with zipfile.ZipFile(theirs.parent / "simvpv2.zip") as archive:
        archive.extractall(folder / "theirs")
    queries = re.findall(r"```sql\n(.*?)```", DOCS.read_text(), re.DOTALL)
    side_by_side, same_test = (
        json.loads(
            stp(
                folder, "query", sql, "--allow-files", "-f", "json", "--database", "results.duckdb"
            ).stdout
        )
        for sql in queries
    )
    told = {(row["whose"], row["model"], row["value"]) for row in side_by_side}
    assert told == {
        ("ours", "convlstm", 0.50), ("ours", "convlstm", 0.54), ("ours", "persistence", 0.4),
        ("theirs", "convlstm", 0.50), ("theirs", "convlstm", 0.54),
    }  # fmt: skip
    assert [row["same_clips"] for row in same_test] == [True]


def refused(*words: str) -> str:
    """The error with which a command line of `stp store` ends."""
    with pytest.raises(StpError) as error:
        CliRunner().invoke(app, ["store", *words], catch_exceptions=False)
    return str(error.value)


def test_a_bundle_is_not_taken_for_artefacts(made):
    scale = ROOT / "tests" / "workflow" / "tiny.yaml"
    assert "docs/export.md" in refused("import", str(made), "--configfile", str(scale))


@pytest.mark.parametrize(
    "words", [[], ["out", "--model", "convlstm"], ["--model", "a", "--check", "b"]]
)
def test_it_must_be_clear_what_to_export(words):
    assert "--check" in refused("export", *words)


def test_a_store_of_an_older_version_is_exported(made, database, tmp_path):
    older = Path(shutil.copy(database, tmp_path))
    as_before(older)
    export(older, "convlstm", tmp_path / "before", EVERYTHING)
    files = {path.relative_to(made) for path in made.rglob("*.csv")}
    assert len(files) >= 4
    for path in files:
        before, now = ((folder / path).read_text() for folder in (tmp_path / "before", made))
        if path.name == "conventions.csv":  # which did not say what compares sets
            now = now.replace(",False,True,", ",,True,")
        assert before == now


def test_a_bundle_of_an_older_version_is_read(bundle):
    """Commit 68fd97e9 knew no artefacts of older code that were accepted."""
    scores, cells = bundle / "scores.parquet", bundle / "cells.csv"
    pq.write_table(pq.read_table(scores).drop_columns("accepted"), scores)
    for path in (bundle / "scores.csv", cells):
        with duckdb.connect() as plain:
            plain.execute(
                f"CREATE TABLE rows AS FROM read_csv('{path}', all_varchar = true); "
                "ALTER TABLE rows DROP COLUMN accepted; "
                f"COPY rows TO '{path}' (FORMAT csv, HEADER true)"
            )
    relist(bundle)
    assert check(bundle).manifest.cells == 2
    pq.write_table(pq.read_table(scores).drop_columns("lacking"), scores)
    relist(bundle)
    with pytest.raises(StpError, match="lacking"):
        check(bundle)
