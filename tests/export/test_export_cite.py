"""What to cite: something for every dataset, model and metric, as BibTeX that BibTeX can read."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from stp.cli import app
from stp.core.errors import StpError
from stp.export import cite, references
from stp.plan import config as configuration
from stp.plan.suite import read_suites

ROOT = Path(__file__).parents[2]
WORKS = references.load()
CONFIG = configuration.load(ROOT / "config" / "paper.yaml")
NEEDED = {"article": {"author", "title", "journal", "year"}}
NEEDED |= {"inproceedings": {"author", "title", "booktitle", "year"}, "misc": {"title"}}


def read_bibtex(text: str) -> dict[str, dict[str, str]]:
    """Read entries strictly: key -> fields, with the type under ``@``; braces must be balanced."""
    assert text.isascii()
    found: dict[str, dict[str, str]] = {}
    rest = text.strip()
    while rest:
        head = re.match(r"@(\w+)\{([A-Za-z0-9-]+),\n", rest)
        assert head, rest[:80]
        kind, key = head.groups()
        assert key not in found, f"{key} stands there twice"
        found[key] = {"@": kind}
        rest = rest[head.end() :]
        while not rest.startswith("}"):
            field = re.match(r"  (\w+) = \{", rest)
            assert field, rest[:80]
            end, depth = field.end(), 1
            while depth:
                escaped = rest[end - 1] == "\\"
                depth += 0 if escaped else (rest[end] == "{") - (rest[end] == "}")
                end += 1
            found[key][field[1]] = rest[field.end() : end - 1]
            rest = rest[end:].removeprefix(",").removeprefix("\n")
        rest = rest[1:].lstrip()
    return found


def test_every_dataset_and_model_of_the_configuration_has_a_work():
    stood_for = {name for work in WORKS.values() for name in work.of}
    wanted = {f"dataset {name}" for name in CONFIG.datasets}
    wanted |= {f"model {name}" for name in CONFIG.models}
    assert wanted - stood_for == set()
    for metric in ("ssim", "ms_ssim", "lpips", "fvd", "kvd", "crps", "csi"):
        assert f"metric {metric}" in stood_for


def test_no_work_stands_for_what_there_is_not():
    known = {"software stp", *(f"suite {name}" for name in read_suites())}
    known |= {f"dataset {name}" for name in CONFIG.datasets}
    known |= {f"model {name}" for name in CONFIG.models}
    for name, metric in CONFIG.metrics.items():
        known |= {f"metric {name}", *(f"metric {name}.{choice}" for choice in metric.conventions)}
    assert {name for work in WORKS.values() for name in work.of} - known == set()


def test_models_are_cited_as_their_configuration_says():
    """First author and year are those of `reference:`, such as Shi et al., NeurIPS 2015."""
    compared = 0
    for name, model in CONFIG.models.items():
        stated = re.match(r"(\w+) et al\..*\b(\d{4})\b", model.reference)
        if stated:
            (work,) = (one for one in WORKS.values() if f"model {name}" in one.of)
            author = work.authors[0].partition(",")[0]
            assert (author.removeprefix("Le "), str(work.year)) == stated.groups(), name
            compared += 1
    assert compared >= 11


def test_datasets_are_cited_as_their_configuration_says():
    """Each of its works has a first author and a year that `citation:` names as well."""
    plain = str.maketrans("áö", "ao")
    for name, dataset in CONFIG.datasets.items():
        works = [one for one in WORKS.values() if f"dataset {name}" in one.of]
        named = [
            one
            for one in works
            if one.authors[0].strip("{}").partition(",")[0].translate(plain) in dataset.citation
            and str(one.year) in dataset.citation
        ]
        assert named, name


def test_all_works_are_bibtex():
    entries = read_bibtex(references.bibtex(WORKS))
    assert list(entries) == list(WORKS)
    for key, fields in entries.items():
        kind = fields["@"]
        assert NEEDED[kind] <= fields.keys(), key
        if "author" in fields:
            for author in re.split(r" and (?![^{]*\})", fields["author"]):
                plain = author.startswith("{") or author == "others"
                assert plain or re.fullmatch(r"[^,]+, [^,]+", author), (key, author)
        assert fields["title"].startswith("{") and fields["title"].endswith("}")
    assert entries["dollar2012pedestrian"]["author"].startswith(r"Doll{\'a}r, P. and Wojek")
    assert r"Metric \& Challenges" in entries["unterthiner2018towards"]["title"]


def test_results_are_cited_by_what_they_rest_on(database):
    citations = cite.of_results(database)
    entries = read_bibtex(cite.as_bibtex(citations))
    assert {"stp", "wang2024predbench", "srivastava2015unsupervised", "shi2015convolutional",
            "wang2004image"} <= entries.keys()  # fmt: skip
    assert "zhang2018unreasonable" not in entries, "LPIPS has no value here"
    page = cite.as_markdown(citations)
    assert "- **Moving-MNIST** (`moving_mnist`); licence: MNIST: CC BY-SA 3.0" in page
    assert "synthetic" in page and "`wang2004image`" in page
    own = cite.of_results(database, "persistence")
    assert "shi2015convolutional" not in cite.as_bibtex(own)


def test_names_are_cited_and_wrong_ones_answered():
    entries = read_bibtex(cite.as_bibtex(cite.of_names(["fvd", "bair", "kvd", "crps.fair"])))
    assert set(entries) == {
        "ebert2017selfsupervised", "unterthiner2018towards", "carreira2017quo",
        "binkowski2018demystifying", "gneiting2007strictly", "ferro2014fair",
    }  # fmt: skip
    with pytest.raises(StpError, match="kth"):
        cite.of_names(["kht"])


def test_a_model_of_your_own_is_cited_by_what_its_entry_states():
    subject = cite.Subject("model", "my_model", "My model", "Doe, 100% mine, 2026")
    entries = read_bibtex(cite.as_bibtex(cite._cite_subjects([subject])))
    assert entries == {
        "model-my-model": {"@": "misc", "title": "{My model}", "note": r"Doe, 100\% mine, 2026"}
    }


def test_a_wrong_work_is_named(tmp_path):
    file = tmp_path / "references.yaml"
    file.write_text("a2020: {type: article, title: A, year: 2020}\n")
    with pytest.raises(StpError, match=r"a2020.*journal"):
        references.load(file)
    file.write_text("a2020: {type: misc, title: A, jounal: B}\n")
    with pytest.raises(StpError, match="jounal"):
        references.load(file)


def test_the_verb_writes_both_files(database, tmp_path):
    outs = [f"--out={tmp_path / name}" for name in ("CITATION.bib", "CITATION.md")]
    done = CliRunner().invoke(app, ["list", "works", "--database", str(database), *outs])
    assert done.exit_code == 0, done.output
    assert read_bibtex((tmp_path / "CITATION.bib").read_text()).keys() >= {"stp", "wang2004image"}
    assert "`wang2004image`" in (tmp_path / "CITATION.md").read_text()


def test_the_project_itself_can_be_cited():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version"} <= cff.keys()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert cff["version"] == project["version"]
    assert f"version {project['version']}" in WORKS["stp"].note
    assert cff["authors"] == [{"name": "The stp authors"}]
    (benchmark,) = cff["references"]
    families = [author["family-names"] for author in benchmark["authors"]]
    assert families == [name.partition(",")[0] for name in WORKS["wang2024predbench"].authors]


def test_every_suite_can_be_cited() -> None:
    for name, suite in read_suites().items():
        (citation,) = cite.of_names([name])
        assert citation.subject.title == suite.title and citation.works, name
