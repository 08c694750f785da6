"""Appendix D: all 168 trainings as printed, and whatever is not is marked."""

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.plan import config
from stp.plan.strict import CONFIG_FOLDER, merge, read_yaml
from stp.render.tables.training_protocol import FILE, SETTINGS, Training, trainings, write

PAPER = CONFIG_FOLDER / "paper.yaml"


@pytest.fixture(scope="module")
def paper() -> list[Training]:
    return trainings(config.load(PAPER))


def test_every_training_is_the_printed_one(paper):
    """Twelve models on fourteen datasets; a difference would need an explanation here."""
    assert len({one.model for one in paper}) == 12 and len({one.dataset for one in paper}) == 14
    assert len(paper) == 168
    assert {(one.model, one.dataset): one.differs for one in paper if one.differs} == {}


def test_what_stands_in_the_paper(paper):
    """Read off appendix D by eye."""
    found = {(one.model, one.dataset): one.published for one in paper}
    digits = found["PredRNNv2", "Moving-MNIST"]
    assert [digits[name] for name in ("batch size", "learning rate", "loss")] == [
        "8", "0.0001", "L2 + 0.1 DC",
    ]  # fmt: skip
    assert found["E3D-LSTM", "Traffic4Cast2021"]["loss"] == "L2"
    assert found["E3D-LSTM", "SEVIR"]["loss"] == "L2 + L1"
    assert found["ConvLSTM", "KTH"]["schedule"] == "constant"
    assert found["TAU", "Human3.6M"]["schedule"] == "cosine"
    assert found["MCVD", "Traffic4Cast2021"]["iterations"] == "2000000"
    assert found["Earthformer", "KTH"]["weight decay"] == "1e-05"


def test_the_release_is_told_where_it_differs(paper):
    """75 of 168 (facts on the released configurations); ours then follows the paper."""
    otherwise = [one for one in paper if one.released_otherwise]
    assert len(otherwise) == 75
    human = next(one for one in paper if (one.model, one.dataset) == ("TAU", "Human3.6M"))
    assert (human.ours["schedule"], human.released["schedule"]) == ("cosine", "onecycle")


def test_the_scale_says_what_it_has_otherwise():
    changes = {
        "dimensions": {"short_term": {"datasets": ["kth"], "models": ["tau", "mcvd"]}},
        "models": {"tau": {"datasets": {"kth": {"train": {"lr": 0.5}}}}},
    }
    scale = {key: value for key, value in read_yaml(PAPER).items() if key != "dimensions"}
    found = {(one.model, one.dataset): one for one in trainings(config.load(merge(scale, changes)))}
    assert found["TAU", "KTH"].changed == {"learning rate": "0.5"}
    assert found["MCVD", "KTH"].changed == {} and found["MCVD", "KTH"].at_scale is not None
    assert found["TAU", "SEVIR"].at_scale is None
    assert not found["TAU", "KTH"].differs, "what the scale changes is not the paper's protocol"


def test_a_difference_to_the_paper_is_marked_in_every_format(tmp_path, monkeypatch):
    lines = FILE.read_text().splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("TAU,KTH,16,1e-3,"))
    lines[row] = lines[row].replace("TAU,KTH,16,1e-3,", "TAU,KTH,16,2e-3,")
    file = tmp_path / "published.csv"
    file.write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(trainings, "__defaults__", (file,))
    out = tmp_path / "tables" / "training_protocol.csv"
    (other,) = (one for one in write(config.load(PAPER), out) if one.differs)
    assert (other.model, other.dataset, other.differs) == ("TAU", "KTH", ["learning rate"])
    text = out.with_suffix(".md").read_text()
    assert "168 trainings, 167 as printed, 1 otherwise" in text
    assert "Not as printed: TAU on KTH" in text and "0.001≠ (0.002)" in text
    for kind in ("tex", "html"):
        assert "0.002" in out.with_suffix(f".{kind}").read_text()
    with out.open(newline="") as text:
        marked = [line for line in csv.DictReader(text) if line["differs"] == "yes"]
    assert [(line["setting"], line["ours"], line["published"]) for line in marked] == [
        ("learning rate", "0.001", "0.002")
    ]


def test_the_verb_writes_all_formats(tmp_path):
    out = tmp_path / "training_protocol.csv"
    command = [
        "list",
        "models",
        "--protocol",
        str(out),
        "--configfile",
        str(CONFIG_FOLDER / "demo.yaml"),
    ]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert "168 trainings, 0 not as printed" in done.stderr
    with out.open(newline="") as text:
        lines = list(csv.DictReader(text))
    assert len(lines) == 168 * len(SETTINGS) and {line["scale"] for line in lines} == {"demo"}
    assert "at scale demo" in out.with_suffix(".md").read_text()
    assert out.with_suffix(".tex").is_file() and out.with_suffix(".html").is_file()


@pytest.mark.parametrize(
    ("old", "new"),
    [("TAU,KTH", "TAO,KTH"), (",OneCycle,", ",TwoCycle,"), ("L2+DDR,0.1", "L2+DDR,x")],
)
def test_a_damaged_file_names_the_row(tmp_path: Path, old, new):
    file = tmp_path / "published.csv"
    file.write_text(FILE.read_text().replace(old, new, 1))
    with pytest.raises(StpError, match="a row of") as error:
        trainings(config.load(PAPER), file)
    assert str(file) in str(error.value)
