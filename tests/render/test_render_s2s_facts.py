"""Tables 1, S1 and S2 of ChaosBench: counted here, and as printed."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.plan.strict import CONFIG_FOLDER
from stp.render.tables import s2s_facts

SCALE = CONFIG_FOLDER / "chaosbench-demo.yaml"


def written(folder: Path, table: str) -> list[dict[str, str]]:
    out = folder / f"{table}.csv"
    command = ["data", "--table", str(out), "--configfile", str(SCALE)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert all(out.with_suffix(kind).stat().st_size > 200 for kind in (".md", ".tex", ".html"))
    with out.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_benchmark_has_what_the_paper_prints(tmp_path: Path) -> None:
    rows = written(tmp_path, "s2s_benchmarks")
    assert [row["benchmark"] for row in rows].count("ChaosBench") == 2 and len(rows) == 6
    printed, here = (row for row in rows if row["benchmark"] == "ChaosBench")
    numbers = ("input_variables", "target_variables", "lead_days", "spatial_extent")
    assert here["whose"] == "here" and [here[key] for key in numbers] == [
        "124",
        "124",
        "44",
        "global",
    ]
    assert [printed[key] for key in numbers] == [here[key] for key in numbers]
    assert "spectral divergence" in here["physics"] and "crpss" in here["probabilistic"]
    text = (tmp_path / "s2s_benchmarks.md").read_text()
    assert "reads 12 of the 124 variables" in text and "≠ (" not in text


def test_variables_of_land_and_ocean(tmp_path: Path) -> None:
    land, ocean = (written(tmp_path, f"s2s_{of}_variables") for of in ("land", "ocean"))
    assert (len(land), len(ocean)) == (43, 21)
    assert land[38] == {
        **{"name": "t2m", "long_name": "2-meter temperature", "units": "K"},
        **{"units printed": "K", "differs": "no"},
    }
    # Snow depth: CDS gives sd in m of water equivalent and sde in m, as printed.
    assert [row["name"] for row in (*land, *ocean) if row["differs"] == "yes"] == []


def test_printed_names_are_those_of_the_reader(tmp_path: Path) -> None:
    file = tmp_path / "printed.csv"
    file.write_text(s2s_facts.PRINTED.read_text().replace("S1,asn,", "S1,asnow,"))
    with pytest.raises(StpError, match="Table S1 and the reader differ in asn, asnow"):
        s2s_facts.variables("s2s_land_variables", file)
