"""Table 1: sizes and counts as printed, differences with their reason, what was prepared."""

import csv
import json

import pytest
from latex import complaints, needs_latex

from stp.core.errors import StpError
from stp.inspect import statistics
from stp.plan import config
from stp.plan.strict import CONFIG_FOLDER


@pytest.fixture
def paper(make_plan):
    """The datasets of the paper at a scale that has none of them."""
    return {one.dataset: one for one in statistics.statistics(make_plan())}


def test_the_fifteen_datasets_have_the_printed_sizes(paper):
    assert len(paper) == 15
    assert all(ours == printed for one in paper.values() for ours, printed in one.sizes.values())
    assert paper["WeatherBench"].sizes["frames"] == ("69 x 128 x 256", "69 x 128 x 256")
    assert paper["BridgeData"].sizes["long-term horizon"] == ("30", "30")
    assert [one.dataset for one in paper.values()][:3] == ["Moving-MNIST", "KTH", "Human3.6M"]


def test_every_other_number_of_clips_has_its_reason(paper):
    differing = {
        (one.dataset, name): split
        for one in paper.values()
        for name, split in one.splits.items()
        if split.difference
    }
    assert all(split.why for split in differing.values())
    assert {dataset for dataset, _ in differing} == {"KTH", "RoboNet", "BridgeData", "nuScenes"}
    assert differing["BridgeData", "val"].difference == 1
    assert all(one.counted_by for one in paper.values())


def test_what_the_scale_prepared_stands_beside_it(make_plan, write_prepared, tmp_path):
    plan = make_plan(
        dimensions={"short_term": {"datasets": ["kth"], "models": ["persistence"]}},
        datasets={"kth": {"release": "synthetic", "shape": [1, 6, 8]}},
        prepared=["caltech"],
    )
    folder = plan.store / plan.data("kth").folder
    write_prepared(folder)
    (folder / "artefact.json").write_text(json.dumps({"fingerprint": folder.name, "files": {}}))
    out = tmp_path / "tables" / "dataset_statistics.csv"
    found = {one.dataset: one for one in statistics.write(plan, out)}
    assert found["KTH"].source == "synthetic" and found["KTH"].frames == "1 x 6 x 8"
    assert found["KTH"].sizes["frames"] == ("1 x 128 x 128", "1 x 128 x 128")
    assert found["BAIR"].source == ""
    with out.open(newline="") as lines:
        rows = {(row["dataset"], row["split"]): row for row in csv.DictReader(lines)}
    assert len(rows) == 45
    made = [rows["KTH", split]["clips prepared at scale"] for split in ("train", "val", "test")]
    assert made == ["2", "1", "2"]
    row = rows["KTH", "train"]
    assert (row["clips"], row["clips published"], row["difference"]) == ("7381", "7482", "-101")
    assert row["source at scale"] == "synthetic" and rows["BAIR", "val"]["source at scale"] == ""
    text = out.with_suffix(".md").read_text()
    assert "KTH are made from synthetic bytes" in text
    assert "| KTH | 1 x 128 x 128 | 10 | 10 | – | 7,381≠ (7,482) | 1,801≠ (1,628) |" in text
    assert "| KTH | synthetic | synthetic | 1 x 6 x 8 | 2 | 1 | 2 |" in text
    assert "- KTH, val: windows of neither 40 nor 20 frames give 1,628" in text
    assert "| Caltech | official | official | 3 x 128 x 160 | – | – | not prepared |" in text
    for kind in ("tex", "html"):
        assert "7,482" in out.with_suffix(f".{kind}").read_text()


@needs_latex
def test_it_compiles(make_plan, tmp_path):
    statistics.write(make_plan(), tmp_path / "dataset_statistics.csv")
    assert complaints(tmp_path / "dataset_statistics.tex") == []


def test_what_is_not_as_printed_is_marked(make_plan, tmp_path, monkeypatch):
    file = tmp_path / "datasets.csv"
    text = statistics.FILE.read_text()
    file.write_text(text.replace("TaxiBJ,2,32,32,4,4,", "TaxiBJ,2,32,32,4,6,"))
    monkeypatch.setattr(statistics.statistics, "__defaults__", (file,))
    out = tmp_path / "dataset_statistics.csv"
    statistics.write(make_plan(), out)
    assert "| TaxiBJ | 2 x 32 x 32 | 4 | 4≠ (6) |" in out.with_suffix(".md").read_text()


@pytest.mark.parametrize(("old", "new"), [("TaxiBJ,", "TaxiNY,"), ("height,", "hight,")])
def test_a_damaged_file_is_named(make_plan, tmp_path, old, new):
    file = tmp_path / "datasets.csv"
    file.write_text(statistics.FILE.read_text().replace(old, new))
    with pytest.raises(StpError, match="in the row of") as error:
        statistics.statistics(make_plan(), file)
    assert str(file) in str(error.value)


def test_every_published_count_has_its_row():
    """config/datasets has the counts of Table 1, this file the sizes: of the suite's datasets."""
    with statistics.FILE.open(newline="") as lines:
        listed = [row["dataset"] for row in csv.DictReader(lines)]
    loaded = config.load(CONFIG_FOLDER / "paper.yaml")
    known = [loaded.datasets[name] for name in loaded.suite.datasets]
    counted = {one.published_name for one in known if one.counts.published.test is not None}
    assert set(listed) == counted and len(listed) == len(counted)
