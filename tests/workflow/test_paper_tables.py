"""All tables: docs/tables.md names each, each is planned, and a small scale makes its own."""

import re
from pathlib import Path

import pytest
from asking import csv_rows
from checkout import ROOT, Checkout

PAGE = (ROOT / "docs" / "tables.md").read_text()
LISTED = re.findall(r"^\| `(results/tables/\w+\.csv)` \|", PAGE, re.MULTILINE)
OF_PEOPLE = [name for name in LISTED if Path(name).stem.startswith(("atlas_", "runtime"))]
OF_FIELDS = [name for name in LISTED if Path(name).stem.startswith("s2s_")]
OF_DISTORTIONS = [
    f"results/tables/{name}.csv"
    for name in (
        *("video_distortions", "noise_study", "sample_size", "metric_correlations"),
        *("content_motion", "trust_cards", "agreement_with_people", "fvd_findings"),
    )
]
OF_OPINIONS = [name for name in LISTED if Path(name).stem.startswith(("quality_", "pvqa_"))]
OF_MODELS = [
    f"results/tables/{name}.csv"
    for name in ("scv_benchmark", "success_correlations", "scv_distortions", "scv_findings")
]
OF_OTHERS = {*OF_PEOPLE, *OF_FIELDS, *OF_DISTORTIONS, *OF_OPINIONS, *OF_MODELS}
OF_VIDEO = {*LISTED} - OF_OTHERS
ON_DEMAND = "results/tables/model_speed.csv"
ALL = "results/tables/all"
FORMATS = {".csv", ".md", ".tex", ".html"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Checkout:
    """A checkout."""
    folder = tmp_path_factory.mktemp("paper-tables")
    return Checkout.create(folder / "checkout", folder / "shared")


def plan(copy: Checkout, *options: str) -> str:
    return copy.succeed("snakemake", "--profile", "local", "-n", "--quiet", "host", *options)


def inputs(told: str, rule: str) -> list[str]:
    """The inputs of a rule, as a dry run tells them."""
    (found,) = re.findall(rf"rule {rule}:\n +input: (.*)", told)
    return found.split(", ")


@pytest.mark.long(part="docs")
def test_the_page_has_every_table_and_every_table_is_planned(copy):
    """At a scale that can make all of them: with seeds enough, and answers of raters."""
    answers = copy.folder / "results" / "demo" / "human_study" / "answers" / "rater.csv"
    answers.parent.mkdir(parents=True)
    answers.touch()
    key = answers.parents[1] / "key.json"
    key.touch()
    seeds = ["--config", "seeds=[0,1,2,3]"]
    told = plan(copy, *seeds, "--", ALL, ON_DEMAND)
    tables = inputs(told, "all_tables")
    assert len(set(LISTED)) == len(LISTED)
    assert {*tables, ON_DEMAND} == OF_VIDEO
    for table in OF_VIDEO:
        assert re.search(rf"output: .*\b{table}\b", told), "a rule makes it"
    answers.unlink()
    assert "results/tables/human_preferences.csv" not in inputs(plan(copy, "--", ALL), "all_tables")


@pytest.mark.parametrize(
    ("scale", "own"),
    [
        ("atlas-demo", OF_PEOPLE),
        *(
            pytest.param(scale, own, marks=pytest.mark.long(part="suites"))
            for scale, own in (
                ("chaosbench-demo", OF_FIELDS),
                ("fvd-demo", OF_DISTORTIONS),
                ("pvqa-demo", OF_OPINIONS),
                ("scv-demo", OF_MODELS),
            )
        ),
    ],
)
def test_scales_of_other_suites_make_theirs_and_none_of_another_paper(copy, scale, own):
    told = plan(copy, "--configfile", f"config/{scale}.yaml", "--", ALL)
    tables = inputs(told, "all_tables")
    assert own and {*own} <= {*tables} < {*LISTED}
    assert not {*tables} & (OF_OTHERS - {*own})
    assert not {"findings", "model_size", "dataset_statistics"} & {
        Path(name).stem for name in tables
    }
    for table in own:
        assert re.search(rf"output: .*\b{table}\b", told), "a rule makes it"


def test_without_a_target_all_is_made_that_a_scale_has_something_of(copy):
    told = plan(copy, "--configfile", "tests/workflow/tiny.yaml")
    assert inputs(told, "all") == [
        ALL,
        "results/tiny/figures/all",
        "results/tiny/report/index.html",
    ]
    tables = inputs(told, "all_tables")
    assert "results/tables/reproduction.csv" in tables
    assert not {"long_term", "robustness", "reliability"} & {Path(name).stem for name in tables}


def test_the_paper_is_planned_without_torch_and_jobs_are_counted(copy, tmp_path):
    """`snakemake --profile slurm -n` ends with a table of jobs; `stp plan` agrees with it."""
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise SystemExit('torch!')")
    path = f"{tmp_path}:{copy.folder}"
    done = copy.run(
        *("snakemake", "--profile", "slurm", "-n", "--quiet", "host", "rules"), PYTHONPATH=path
    )
    assert done.returncode == 0, done.stdout
    stats = done.stdout.rpartition("Job stats:")[2].partition("Reasons:")[0]
    jobs = {rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", stats, re.MULTILINE)}
    assert jobs["predict_short_term"] == 15 * 14 and jobs["score_robustness"] == 15 * 9
    planned = copy.run("stp", "plan", "--configfile", "config/paper.yaml", PYTHONPATH=path).stdout
    rows = re.findall(r"^│ (train|score) +│ +([\d ,│]+)│$", planned, re.MULTILINE)
    summed = {stage: int(numbers.split("│")[-1]) for stage, numbers in rows if "│" in numbers}
    scores = sum(n for rule, n in jobs.items() if rule.startswith("score_"))
    assert summed == {"train": jobs["train"], "score": scores}
    job = copy.run("stp", "train", "convlstm", "enso", PYTHONPATH=path)
    assert "torch!" in job.stdout or job.returncode != 0, "the trap does not work"


@pytest.mark.slow
@pytest.mark.long(part="kinds")
def test_a_small_scale_makes_all_of_its_tables(tiny, tmp_path):
    copy = Checkout.beside(tiny, tmp_path)
    copy.succeed(
        "snakemake", "--profile", "local", "--configfile", "tests/workflow/tiny.yaml", "--", ALL
    )
    tables = [copy.folder / name for name in (copy.folder / ALL).read_text().split()]
    assert len(tables) >= 6
    for table in tables:
        for kind in FORMATS:
            assert table.with_suffix(kind).stat().st_size > 200, table.with_suffix(kind)
    rows = [row for row in csv_rows(copy.folder / "results/tables/reproduction.csv") if row["ours"]]
    assert {row["model"] for row in rows} == {"ConvLSTM", "SimVPv2"} and len(rows) == 2 * 4
    assert {(row["comparable"], row["difference"]) for row in rows} == {("NO", "")}
    again = plan(copy, "--configfile", "tests/workflow/tiny.yaml", "--", ALL)
    assert "Nothing to be done" in again
