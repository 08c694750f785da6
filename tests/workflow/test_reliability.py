"""The reliability study by the real Snakemake: four seeds of a tiny model on made-up data."""

import os
from pathlib import Path

import pytest
from asking import csv_rows
from checkout import TABLE, Checkout

pytestmark = [pytest.mark.slow, pytest.mark.long(part="kinds")]
SCALE = "tests/workflow/reliability.yaml"
STUDY = "results/tables/reliability.csv"


def snakemake(checkout: Checkout, *options: str, scale: str = SCALE, target: str = STUDY):
    command = ("snakemake", "--profile", "local", "--configfile", scale, *options, "--", target)
    return checkout.run(*command)


def planned_rules(printed: str) -> set[str]:
    """The rules of the jobs that a dry run names."""
    lines = (line.strip() for line in printed.splitlines())
    names = (line.removeprefix("local") for line in lines if line.endswith(":"))
    return {name[5:-1] for name in names if name.startswith("rule ")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Checkout:
    """A checkout whose study was made: training, prediction and scores of four seeds."""
    folder = tmp_path_factory.mktemp("reliability")
    checkout = Checkout.create(folder / "checkout", folder / "shared")
    done = snakemake(checkout)
    assert done.returncode == 0, done.stdout
    return checkout


def test_the_study_is_made_of_real_runs_with_other_seeds(finished: Checkout) -> None:
    folder = (finished.folder / STUDY).parent
    rows = csv_rows(finished.folder / STUDY)
    assert {(row["dataset"], row["model"]) for row in rows} == {("Moving-MNIST", "PredRNN++")}
    assert {row["comparable"] for row in rows} == {"NO"}
    columns = list(dict.fromkeys(row["column"] for row in rows))
    assert columns == ["MAE", "MSE", "SSIM", "PSNR", "LPIPS", "FVD"]  # as in Table 18
    mse = {row["statistic"]: row for row in rows if row["column"] == "MSE"}
    runs = [row for row in mse.values() if row["value"] and row["seed"]]
    assert [row["seed"] for row in runs] == ["0", "1", "2", "3"]
    assert len({row["value"] for row in runs}) == 4, "seeds do not differ"
    assert mse["std.population"]["published"] == "0.0435"
    assert mse["p.larger"]["published"] == "0.8007"
    for kind in ("md", "tex", "html", "png", "svg"):
        assert (folder / f"reliability.{kind}").is_file()
    assert not (finished.folder / TABLE).exists(), "the study needs no other table"


def test_rows_that_were_changed_are_collected_again(finished: Checkout) -> None:
    again = snakemake(finished, "-n", "--quiet", "host")
    assert "Nothing to be done" in again.stdout, again.stdout
    rows = finished.folder / "results/tiny-reliability/collected/short_term.parquet"
    content, made = rows.read_bytes(), rows.stat()
    rows.write_bytes(content + b"other")
    again = snakemake(finished, "-n", "--quiet", "host")
    rules = {"collect_short_term", "render_reliability", "table"}
    assert planned_rules(again.stdout) == rules, again.stdout
    rows.write_bytes(content)
    os.utime(rows, ns=(made.st_atime_ns, made.st_mtime_ns))


def test_it_is_no_part_of_all(finished: Checkout) -> None:
    planned = snakemake(finished, "-n", "--quiet", "host", target="all")
    assert planned.returncode == 0, planned.stdout
    assert "render_short_term" in planned_rules(planned.stdout), planned.stdout
    assert "render_reliability" not in planned_rules(planned.stdout), planned.stdout


def test_too_few_seeds_are_refused_before_anything_runs(finished: Checkout, tmp_path: Path) -> None:
    text = (finished.folder / SCALE).read_text()
    few = tmp_path / "few.yaml"
    few.write_text(text.replace("seeds: [0, 1, 2, 3]", "seeds: [0, 1, 2]"))
    before = finished.receipts()
    done = snakemake(finished, "--quiet", "host", scale=str(few))
    assert done.returncode != 0
    assert "too few seeds for a study of repeated runs (predrnnpp: 3)" in done.stdout
    assert "at least 4 seeds" in done.stdout
    assert finished.receipts() == before
