"""What `stp list datasets` prints and writes."""

import json

import pytest
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.inspect.report import as_json, describe, describe_prepared, lines
from stp.page.plain_table import format_count, share, table
from stp.prepare.output import Clip
from stp.prepare.planned_counts import Planned

LEAKY = Planned(
    [
        Clip("train", "a", 0, 1, 20, "v1"),
        Clip("test", "b", 10, 1, 20, "v1"),
        Clip("test", "c", 50, 1, 20, "v2"),
        Clip("strict", "c", 50, 1, 20, "v2"),
    ],
    {"val": 1},
)


@pytest.fixture
def leaky(make_plan, monkeypatch):
    monkeypatch.setattr("stp.datasets.kth.reader.count", lambda recipe, raw: LEAKY)
    strict = {"strict": {"title": "test clips of new videos"}}
    return make_plan(datasets={"kth": {"subsets": strict}})


def test_one_dataset_is_shown_with_its_leakage(leaky):
    counts, leaks = describe(leaky, ["kth"], leakage=False)
    text = "\n".join(lines(leaky, counts, leaks, 120))
    assert "1 (50.0 %)" in text
    assert "test clips of new videos" in text
    last = [line for line in text.splitlines() if line.startswith("strict")]
    assert last and last[0].count("0 (0.0 %)") == 3
    assert any(line.endswith(": val") for line in text.splitlines())
    found = as_json(leaky, counts, leaks)
    assert json.loads(json.dumps(found)) == found
    assert found["leakage"]["kth"]["shared"][0] == {
        **{"split": "test", "against": "train", "clips": 2, "same_cluster": 1, "overlapping": 1},
        **{"clusters": 2, "shared_clusters": 1},
    }


def test_all_datasets_are_shown_without_data_and_lists(make_plan):
    plan = make_plan()
    counts, leaks = describe(plan, [], leakage=False)
    assert {row.dataset for row in counts} == set(plan.config.datasets) and leaks == {}
    text = "\n".join(lines(plan, counts, leaks, 150))
    assert "kth/00sequences.txt" in text and "official" in text


def test_leakage_of_what_is_known_by_number_only(make_plan):
    plan = make_plan()
    counts, leaks = describe(plan, ["moving_mnist"], leakage=True)
    assert "number" in "\n".join(lines(plan, counts, leaks, 100))


def test_an_unknown_dataset(make_plan):
    with pytest.raises(StpError, match=r"'kht'(.|\n)*kth"):
        describe(make_plan(), ["kht"], leakage=False)


def test_the_text_of_all_prepared_datasets(make_plan, publish):
    plan = make_plan(prepared=["kth"], datasets={"kth": {"release": "synthetic"}})
    with pytest.raises(StpError, match="stp prepare kth"):
        describe_prepared(plan)
    publish(plan, "kth")
    text = describe_prepared(plan)
    assert plan.data("kth").folder in text and "1 x 128 x 128" in text
    assert "test      train" in text, "what its splits share"
    assert "moving_mnist" not in text, "it is no dataset of this scale"
    assert text == describe_prepared(plan)


def test_the_verb_writes_a_file_beside_and_renames_it(make_plan, publish, tmp_path):
    scale = tmp_path / "small.yaml"
    scale.write_text("{scale: small, dimensions: {}, prepared: [kth]}")
    publish(make_plan(prepared=["kth"]), "kth")
    out = tmp_path / "results" / "data" / "all"
    given = ["list", "datasets", "--prepared", "--configfile", str(scale), "--out", str(out)]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    assert done.exit_code == 0 and "kth" in out.read_text()
    assert [path.name for path in out.parent.iterdir()] == ["all"]


def test_the_verb_prints_json(make_plan):
    make_plan()
    given = ["list", "datasets", "kth", "--format", "json", "--configfile", "config/paper.yaml"]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    found = json.loads(done.stdout)
    assert found["scale"] == "paper"
    assert [row["published"] for row in found["counts"][:3]] == [7482, 1628, 4047]


def test_numbers_and_tables():
    assert (format_count(None), format_count(1234567), share(1, 8)) == (
        "-",
        "1,234,567",
        "1 (12.5 %)",
    )
    assert share(0, 0) == "0"
    found = table(("a", "n", "why"), [("x", "10", "one two three four five six seven")], 32)
    assert found == [
        "a   n  why",
        "-" * 30,
        "x  10  one two three four five",
        "       six seven",
    ]
