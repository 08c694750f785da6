"""Facts that papers print, beside ours: as printed, and whatever is not is marked."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from asking import csv_rows
from latex import complaints, needs_latex
from typer.testing import CliRunner

from stp.cli import app
from stp.core import exit_codes
from stp.core.errors import StpError
from stp.inspect.facts import table, trainings
from stp.inspect.facts.fact import Facts
from stp.plan.cells import Plan
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.suite import Suite, read_suites

SUITES = CONFIG_FOLDER / "suites"
DEMO = str(CONFIG_FOLDER / "chaosbench-demo.yaml")


@pytest.fixture(scope="module")
def predbench() -> Plan:
    return Plan.load(CONFIG_FOLDER / "paper.yaml")


@pytest.fixture(scope="module")
def chaosbench() -> Plan:
    return Plan.load(CONFIG_FOLDER / "chaosbench-demo.yaml")


@pytest.fixture(scope="module")
def protocol(predbench: Plan) -> Facts:
    return table.make(predbench, "training_protocol")


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """edited(file, old, new): what is printed, with an error in it."""

    def edit(name: str, old: str, new: str) -> Path:
        shutil.copytree(SUITES, tmp_path / "suites")
        file = tmp_path / "suites" / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))
        copied = property(lambda suite: tmp_path / "suites" / suite._folder.name)
        monkeypatch.setattr(Suite, "folder", copied)
        return file

    return edit


def written(plan: Plan, out: Path) -> list[dict[str, str]]:
    table.write(plan, out)
    assert all(out.with_suffix(kind).stat().st_size > 200 for kind in (".md", ".tex", ".html"))
    return csv_rows(out)


def test_every_table_of_facts_has_its_source_and_file():
    declared = [
        (suite, source)
        for suite in read_suites().values()
        for source in table.tables_of(suite).values()
    ]
    assert len(declared) == 8
    assert all((suite.folder / source.file).is_file() for suite, source in declared)


def test_an_unknown_table_is_named(predbench: Plan):
    with pytest.raises(StpError, match="training_protcol") as error:
        table.make(predbench, "training_protcol")
    assert "training_protocol" in error.value.remedy


# ---- trainings


def test_every_training_is_the_printed_one(protocol: Facts):
    """Twelve models on fourteen datasets; a difference would need an explanation."""
    rows = [row.values for row in protocol.rows]
    assert len({row["model"] for row in rows}) == 12
    assert len({row["dataset"] for row in rows}) == 14
    assert len({(row["model"], row["dataset"]) for row in rows}) == 168
    assert len(rows) == 1680 and not [row for row in protocol.rows if row.differences]


def test_what_stands_in_the_paper(protocol: Facts):
    """Read off appendix D by eye."""
    printed = {
        (row.values["model"], row.values["dataset"], row.values["setting"]): row.values["published"]
        for row in protocol.rows
    }
    digits = ("PredRNNv2", "Moving-MNIST")
    assert [printed[*digits, name] for name in ("batch size", "learning rate", "loss")] == [
        "8", "0.0001", "L2 + 0.1 DC",
    ]  # fmt: skip
    assert printed["E3D-LSTM", "Traffic4Cast2021", "loss"] == "L2"
    assert printed["E3D-LSTM", "SEVIR", "loss"] == "L2 + L1"
    assert printed["ConvLSTM", "KTH", "schedule"] == "constant"
    assert printed["TAU", "Human3.6M", "schedule"] == "cosine"
    assert printed["MCVD", "Traffic4Cast2021", "iterations"] == "2000000"
    assert printed["Earthformer", "KTH", "weight decay"] == "1e-05"


def test_the_release_is_told_where_it_differs(protocol: Facts):
    """75 of 168 (facts on the released configurations); ours then follows the paper."""
    assert sum(len(row.notes) for row in protocol.rows) == 75
    (schedule,) = (
        row.values for row in protocol.rows
        if [row.values[key] for key in ("model", "dataset", "setting")]
        == ["TAU", "Human3.6M", "schedule"]
    )  # fmt: skip
    assert (schedule["ours"], schedule["released"]) == ("cosine", "onecycle")


def test_the_scale_says_what_it_has_otherwise(make_plan):
    plan = make_plan(
        dimensions={"short_term": {"datasets": ["kth"], "models": ["tau", "mcvd"]}},
        models={"tau": {"datasets": {"kth": {"train": {"lr": 0.5}}}}},
    )
    compared = trainings.trainings(plan.config, trainings.source_of(plan.config.suite))
    found = {(one.model, one.dataset): one for one in compared}
    tau = found["TAU", "KTH"]
    assert tau.at_scale == {**tau.ours, "learning rate": "0.5"}
    assert not tau.differs("learning rate"), "what the scale changes is not the paper's protocol"
    assert found["MCVD", "KTH"].at_scale is not None and found["TAU", "SEVIR"].at_scale is None


def test_a_difference_is_marked_in_every_format(predbench: Plan, tmp_path: Path, edited):
    edited("predbench/training_protocol.csv", "TAU,KTH,16,1e-3,", "TAU,KTH,16,2e-3,")
    out = tmp_path / "tables" / "training_protocol.csv"
    marked = [row for row in written(predbench, out) if row["differs"] == "yes"]
    assert [[row[key] for key in ("setting", "ours", "published")] for row in marked] == [
        ["learning rate", "0.001", "0.002"]
    ]
    text = out.with_suffix(".md").read_text()
    assert "1,680 rows, 1 " in text and "0.001≠ (0.002)" in text
    assert all("0.002" in out.with_suffix(kind).read_text() for kind in (".tex", ".html"))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [("TAU,KTH", "TAO,KTH", "TAO"), ("L2+DDR,0.1", "L2+DDR,x", "TAU"), (",lr,", ",rate,", "lr")],
)
def test_a_damaged_file_is_named(predbench: Plan, edited, old: str, new: str, told: str):
    file = edited("predbench/training_protocol.csv", old, new)
    with pytest.raises(StpError, match=told) as error:
        table.make(predbench, "training_protocol")
    assert str(file) in str(error.value)


def test_networks_are_those_that_the_paper_prints(chaosbench: Plan, tmp_path: Path):
    rows = written(chaosbench, tmp_path / "s2s_networks.csv")
    printed = [row for row in rows if row["published"]]
    assert len(printed) == 37 and {row["differs"] for row in rows} == {"no"}
    counted = {row["model"]: row for row in rows if row["hyperparameter"] == "Parameters"}
    assert {model: row["ours"] for model, row in counted.items()} == {
        **{"Lagged AE": "21,687,563", "ResNet": "34,870,524"},
        **{"UNet": "31,082,108", "FNO": "45,969,724"},
    }
    demo = {row["hyperparameter"]: row["at scale"] for row in rows if row["model"] == "FNO"}
    assert demo["Fourier Modes"] == "8, 8" and demo["Batch Size"] == "16"
    assert "4, 4 \\[8, 8\\]" in (tmp_path / "s2s_networks.md").read_text()


def test_a_network_that_is_not_as_printed_is_marked(chaosbench: Plan, edited):
    edited("chaosbench/networks.csv", "S6,FNO,Activation,GeLU", "S6,FNO,Activation,ReLU")
    compared = table.make(chaosbench, "s2s_networks")
    (row,) = (row for row in compared.rows if row.differences)
    assert row.values["ours"] == "GELU" and row.differences == {"ours": "ReLU"}


# ---- variables and benchmarks


def test_the_benchmark_has_what_the_paper_prints(chaosbench: Plan, tmp_path: Path):
    rows = written(chaosbench, tmp_path / "s2s_benchmarks.csv")
    assert [row["benchmark"] for row in rows].count("ChaosBench") == 2 and len(rows) == 6
    printed, here = (row for row in rows if row["benchmark"] == "ChaosBench")
    numbers = ("input_variables", "target_variables", "lead_days", "spatial_extent")
    assert [here[key] for key in ("whose", *numbers)] == ["here", "124", "124", "44", "global"]
    assert [printed[key] for key in numbers] == [here[key] for key in numbers]
    assert "spectral divergence" in here["physics"] and "crpss" in here["probabilistic"]
    text = (tmp_path / "s2s_benchmarks.md").read_text()
    assert "14 variables" in text and "≠ (" not in text


def test_variables_of_land_and_ocean(chaosbench: Plan, tmp_path: Path):
    land, ocean = (
        written(chaosbench, tmp_path / f"s2s_{of}_variables.csv") for of in ("land", "ocean")
    )
    assert (len(land), len(ocean)) == (43, 21)
    assert land[38] == {
        **{"name": "t2m", "long_name": "2-meter temperature", "units": "K"},
        **{"units printed": "K", "differs": "no"},
    }
    # Snow depth: CDS gives sd in m of water equivalent and sde in m, as printed.
    assert [row["name"] for row in (*land, *ocean) if row["differs"] == "yes"] == []


def test_printed_names_are_those_of_the_reader(chaosbench: Plan, edited):
    edited("chaosbench/variables.csv", "S1,asn,", "S1,asnow,")
    with pytest.raises(StpError, match="asn, asnow"):
        table.make(chaosbench, "s2s_land_variables")


# ---- datasets


def test_the_fifteen_datasets_have_the_printed_sizes(make_plan, tmp_path: Path):
    rows = written(make_plan(), tmp_path / "dataset_statistics.csv")
    first = {row["dataset"]: row for row in rows}
    assert len(first) == 15 and list(first)[:3] == ["Moving-MNIST", "KTH", "Human3.6M"]
    sizes = ("frames", "context", "horizon", "long-term horizon")
    assert all(row[size] == row[f"{size} published"] for row in rows for size in sizes)
    assert first["WeatherBench"]["frames"] == "69 x 128 x 256"
    assert first["BridgeData"]["long-term horizon"] == "30"


def test_every_other_number_of_clips_has_its_reason(make_plan):
    compared = table.make(make_plan(), "dataset_statistics")
    differing = [row for row in compared.rows if row.differences]
    assert not any(row.unexplained_columns for row in differing)
    datasets = {row.values["dataset"] for row in differing}
    assert datasets == {"KTH", "RoboNet", "BridgeData", "nuScenes"}
    assert all(row.values["counted by"] for row in compared.rows)


def test_what_the_scale_prepared_stands_beside_it(make_plan, write_prepared, tmp_path: Path):
    plan = make_plan(
        dimensions={"short_term": {"datasets": ["kth"], "models": ["persistence"]}},
        datasets={"kth": {"release": "synthetic", "shape": [1, 6, 8]}},
        prepared=["caltech"],
    )
    folder = plan.store / plan.data("kth").folder
    write_prepared(folder)
    (folder / "artefact.json").write_text(json.dumps({"fingerprint": folder.name, "files": {}}))
    out = tmp_path / "tables" / "dataset_statistics.csv"
    rows = {(row["dataset"], row["split"]): row for row in written(plan, out)}
    assert len(rows) == 45
    made = [rows["KTH", split]["clips prepared at scale"] for split in ("train", "val", "test")]
    assert made == ["2", "1", "2"]
    row = rows["KTH", "train"]
    assert (row["clips"], row["clips published"], row["difference"]) == ("7381", "7482", "-101")
    assert row["frames"] == "1 x 128 x 128" and row["frames at scale"] == "1 x 6 x 8"
    assert row["source at scale"] == "synthetic" and rows["BAIR", "val"]["source at scale"] == ""
    text = out.with_suffix(".md").read_text()
    assert "synthetic" in text
    assert "| KTH | 1 x 128 x 128 | 10 | 10 | – | 7,381 \\[2\\]≠ (7,482) |" in text
    assert "- KTH, val: " in text and "1,628" in text
    assert all("7,482" in out.with_suffix(kind).read_text() for kind in (".tex", ".html"))


def test_a_size_that_is_not_as_printed_is_marked(make_plan, tmp_path: Path, edited):
    edited("predbench/datasets.csv", "TaxiBJ,2,32,32,4,4,", "TaxiBJ,2,32,32,4,6,")
    out = tmp_path / "dataset_statistics.csv"
    written(make_plan(), out)
    assert "| TaxiBJ | 2 x 32 x 32 | 4 | 4≠ (6) |" in out.with_suffix(".md").read_text()


@pytest.mark.parametrize(("old", "new"), [("TaxiBJ,", "TaxiNY,"), ("height,", "hight,")])
def test_an_unknown_dataset_or_column_is_named(make_plan, edited, old: str, new: str):
    file = edited("predbench/datasets.csv", old, new)
    with pytest.raises(StpError, match=r"TaxiNY|height") as error:
        table.make(make_plan(), "dataset_statistics")
    assert str(file) in str(error.value)


def test_every_published_count_has_its_row(predbench: Plan):
    """config/datasets has the counts of Table 1, the file the sizes: of the suite's datasets."""
    listed = [row["dataset"] for row in csv_rows(SUITES / "predbench" / "datasets.csv")]
    known = [predbench.config.datasets[name] for name in predbench.config.suite.datasets]
    counted = {one.published_name for one in known if one.counts.published.test is not None}
    assert set(listed) == counted and len(listed) == len(counted)


@needs_latex
@pytest.mark.parametrize("name", ["dataset_statistics", "training_protocol"])
def test_it_compiles(make_plan, tmp_path: Path, name: str):
    written(make_plan(), tmp_path / f"{name}.csv")
    assert complaints(tmp_path / f"{name}.tex") == []


# ---- the verb


def checked(*words: str):
    return CliRunner().invoke(app, ["check", "facts", *words], catch_exceptions=False)


def test_the_verb_counts_rows_and_differences():
    done = checked("chaosbench", "--configfile", DEMO)
    assert done.exit_code == exit_codes.FOUND
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["s2s_networks", "ChaosBench,", "Tables", "S3", "to", "S6", "41", "0", "0"] in lines


def test_a_difference_that_nothing_explains_has_an_exit_code(edited):
    edited("chaosbench/benchmarks.csv", "ChaosBench,124,124,44", "ChaosBench,124,125,44")
    done = checked("chaosbench", "--configfile", DEMO, "--format", "csv")
    assert done.exit_code == exit_codes.NOTHING
    assert list(csv.reader(done.stdout.splitlines())) == [
        list(table.DIFFERENCE),
        ["s2s_benchmarks", "ChaosBench", "target_variables", "124", "125", table.UNEXPLAINED],
    ]


def test_the_verb_writes_a_table(tmp_path: Path):
    out = tmp_path / "s2s_land_variables.csv"
    done = checked("chaosbench", "--table", str(out))
    assert done.exit_code == exit_codes.FOUND and "43 rows, 0 " in done.stderr
    assert all(out.with_suffix(kind).is_file() for kind in (".csv", ".md", ".tex", ".html"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["chaosbenhc"], "chaosbenhc"),
        (["atlas"], "Atlas"),
        (["chaosbench", "--configfile", str(CONFIG_FOLDER / "demo.yaml")], "predbench"),
    ],
)
def test_a_suite_that_cannot_be_checked(words: list[str], told: str):
    with pytest.raises(StpError, match=told):
        checked(*words)
