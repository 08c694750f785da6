"""Snakemake's own report: every table and figure has a caption with the origin of its data."""

import json
import re
import sys
import zipfile
from pathlib import Path

import pytest
from checkout import ROOT, Checkout
from parts import long_except

from stp.plan.suite import OF_ALL, read_suites

TINY = "tests/workflow/tiny.yaml"
OFFLINE = dict.fromkeys(
    ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), "http://127.0.0.1:9"
)
"""Whatever goes through a proxy fails; the report must not need it."""
NO_SCORES = {"model_speed"}
WITHOUT_CONVENTION = {
    "citation",
    "facts",
    "figure",  # says it below itself
    "human_preferences",
    "runtime",
    "table",
    "view",
}


@pytest.fixture(scope="module")
def copy(tiny, tmp_path_factory) -> Checkout:
    """A checkout beside a finished store."""
    return Checkout.beside(tiny, tmp_path_factory.mktemp("snakemake-report"))


@pytest.fixture(scope="module", params=long_except([TINY], [TINY, "config/fvd-demo.yaml"], "kinds"))
def annotations(request, copy) -> dict:
    """Rule -> output -> caption, category and subcategory, or None; and the workflow's text."""
    printed = copy.succeed(
        sys.executable, str(ROOT / "tests/workflow/annotations.py"), request.param
    )
    found = json.loads(printed.strip().splitlines()[-1])
    assert isinstance(found, dict)
    return found


def test_every_table_and_figure_is_in_the_report(annotations):
    workflow = annotations["workflow"]
    assert workflow.endswith("workflow/report/workflow.rst")
    made = {
        rule: outputs
        for rule, outputs in annotations.items()
        if rule != "workflow"
        and any(
            re.match(r"results/[\w-]+/(tables/.*csv|figures/.*(png|gif))$", path)
            for path in outputs
        )
    }
    assert len(made) >= 12
    for rule, outputs in made.items():
        shown = {path: said for path, said in outputs.items() if said}
        tables = [
            path for path in outputs if re.fullmatch(r"results/[\w-]+/tables/[^/]*\.html", path)
        ]
        assert shown and set(tables) <= shown.keys(), f"{rule}: the page of a table is missing"
        for path, said in shown.items():
            assert Path(said["caption"]).is_file(), (path, said["caption"])
            wanted = {"tables": "Tables", "figures": None}[path.split("/")[2]]
            assert said["category"] == (wanted or said["category"])
            assert said["category"] in ("Tables", "Figures", "Pictures of forecasts")
            of_dimension = wanted is None and "{dimension" in path
            assert (said["subcategory"] == "{dimension}") == of_dimension, path
    (page,) = annotations["report"].values()
    assert page["category"] == "Report" and page["caption"].endswith("report/report.rst")


def test_captions_name_the_origin_of_their_data(annotations):
    used = {
        Path(said["caption"]).stem
        for rule, outputs in annotations.items()
        if rule != "workflow"
        for said in outputs.values()
        if said
    }
    there = {path.stem: path.read_text() for path in (ROOT / "workflow/report").glob("*.rst")}
    assert used < there.keys()
    declared = {name for suite in read_suites().values() for name in suite.all_tables()}
    generic = {"dimension", "table", "facts", "findings", "view", "workflow", "report", "citation"}
    generic |= {"figure", "strips", "movies", "trajectories", *OF_ALL}
    assert there.keys() <= declared | generic, "every caption is that of something"
    for name, text in there.items():
        told = 'snakemake.config["data_origin"]' in text or "snakemake.params.data_origin" in text
        assert told != (name in NO_SCORES), name
        assert told or "**No data" in text
        assert name in NO_SCORES or "onvention" in text or name in WITHOUT_CONVENTION, name


@pytest.mark.slow
@pytest.mark.long(part="kinds")
def test_a_report_is_made_offline_with_captions_and_labels(copy):
    scale = copy.folder / "config" / "one.yaml"
    text = (ROOT / TINY).read_text()
    text = text.replace("[moving_mnist, enso]", "[moving_mnist]").replace(
        "scale: tiny", "scale: one"
    )
    scale.write_text(text.replace("[persistence, climatology, convlstm, simvpv2]", "[persistence]"))
    targets = [
        "results/tables/short_term.csv",
        "results/one/figures/short_term/leads/moving_mnist.png",
        "results/one/CITATION.bib",
    ]
    command = ["snakemake", "--profile", "local", "--cores", "2", "--configfile", "config/one.yaml"]
    copy.succeed(*command, "--", *targets, **OFFLINE)
    page = "results/snakemake-report.html"
    copy.succeed(*command, "--report", page, "--", *targets, **OFFLINE)
    html = (copy.folder / page).read_text()
    for told in (
        '"labels": {"table": "short_term", "format": "page", "data": "synthetic, scale one"}',
        '"labels": {"figure": "leads", "test": "moving_mnist", "data": "synthetic, scale one"}',
        '"labels": {"page": "what to cite", "data": "synthetic, scale one"}',
    ):
        assert told in html, told
    assert not re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="https?://', html)

    copy.succeed(*command, "--report", "results/r.zip", "--", *targets, **OFFLINE)
    with zipfile.ZipFile(copy.folder / "results/r.zip") as archive:
        held = {Path(name).name: archive.read(name) for name in archive.namelist()}
    assert held["short_term.html"] == (copy.folder / "results/tables/short_term.html").read_bytes()
    assert {"report.html", "moving_mnist.png", "short_term.csv", "CITATION.md"} <= held.keys()

    # The card of a bundle says how to make its numbers again: Snakemake knows that they are there.
    copy.succeed("stp", "store", "export", "--model", "persistence", "--out", "bundle")
    card = (copy.folder / "bundle" / "README.md").read_text()
    (again,) = re.findall(r"^snakemake .*artefact.json.*$", card, re.MULTILINE)
    done = copy.run("bash", "-c", again.replace("snakemake ", "snakemake -n ", 1))
    assert done.returncode == 0 and "Nothing to be done" in done.stdout, done.stdout
