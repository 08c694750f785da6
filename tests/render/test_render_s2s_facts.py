"""Tables 1 and S1 to S6 of ChaosBench: counted here, and as printed."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.plan import config
from stp.plan.strict import CONFIG_FOLDER
from stp.render.tables import s2s_facts, s2s_networks

SCALE = CONFIG_FOLDER / "chaosbench-demo.yaml"


def written(folder: Path, table: str) -> list[dict[str, str]]:
    out = folder / f"{table}.csv"
    command = ["list", "datasets", "--table", str(out), "--configfile", str(SCALE)]
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
    assert "reads 14 of the 124 variables" in text and "≠ (" not in text


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


def test_networks_are_those_that_the_paper_prints(tmp_path: Path) -> None:
    rows = written(tmp_path, "s2s_networks")
    printed = [row for row in rows if row["published"]]
    assert len(printed) == 37 and {row["differs"] for row in rows} == {"no"}
    counted = {row["model"]: row for row in rows if row["hyperparameter"] == "Parameters"}
    assert {model: row["ours"] for model, row in counted.items()} == {
        **{"Lagged AE": "21,687,563", "ResNet": "34,870,524"},
        **{"UNet": "31,082,108", "FNO": "45,969,724"},
    }
    demo = {row["hyperparameter"]: row["at scale"] for row in rows if row["model"] == "FNO"}
    assert demo["Fourier Modes"] == "8, 8" and demo["Batch Size"] == "16"


def test_a_network_that_is_not_as_printed_is_marked() -> None:
    """Of the protocol, edited: one activation, and one learning rate."""
    loaded = config.load(CONFIG_FOLDER / "chaosbench.yaml")
    fno = next(one for one in s2s_networks.networks(loaded) if one.name == "fno")
    assert fno.at_scale == fno.ours and not any(map(fno.differs, fno.ours))
    edited = replace(fno, ours=fno.ours | {"Activation": "ReLU", "Epochs": "50"})
    assert [name for name in fno.ours if edited.differs(name)] == ["Activation", "Epochs"]
