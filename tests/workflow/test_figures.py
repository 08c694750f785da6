"""All figures of a scale in a real run: made, repeated exactly, and made again alone."""

from pathlib import Path

import pytest
from checkout import TABLE, Checkout

pytestmark = pytest.mark.slow
SCALE = "tests/workflow/tiny.yaml"
ALL = "results/tiny/figures/all"
REPORT = "results/tiny/report/index.html"


def snakemake(checkout: Checkout, *arguments: str) -> str:
    return checkout.succeed("snakemake", "--profile", "local", "--configfile", SCALE, *arguments)


def jobs(printed: str) -> set[str]:
    """The rules that a dry run would run."""
    lines = (line.strip() for line in printed.splitlines())
    return {
        line.split()[1].rstrip(":") for line in lines if line.startswith(("rule ", "localrule "))
    }


@pytest.mark.long(part="kinds")
def test_a_figure_is_made_and_an_edit_of_figures_makes_no_table(
    tiny: Checkout, tmp_path: Path
) -> None:
    checkout = Checkout.beside(tiny, tmp_path)
    ranks = "results/tiny/figures/short_term/ranks.png"
    snakemake(checkout, "--", TABLE, ranks)
    before = (checkout.folder / ranks).read_bytes()
    assert before.startswith(b"\x89PNG")
    checkout.edit("stp/render/figures/ranks.py")
    planned = jobs(snakemake(checkout, "-n", "--quiet", "host", "--", TABLE, ranks))
    assert planned == {"figure_of_dimension"}
    checkout.restore("stp/render/figures/ranks.py")
    snakemake(checkout, "--force", "--", ranks)
    assert (checkout.folder / ranks).read_bytes() == before


@pytest.mark.long(part="kinds")
def test_all_figures_and_the_report_are_made(tiny: Checkout, tmp_path: Path) -> None:
    checkout = Checkout.beside(tiny, tmp_path)
    snakemake(checkout, "--", TABLE, ALL, REPORT)
    assert (checkout.folder / REPORT).is_file()
    listed = (checkout.folder / ALL).read_text().split()
    assert "results/tiny/figures/short_term/leads/moving_mnist.png" in listed
    assert "results/tiny/figures/short_term/overview.png" in listed
    # It needs five datasets, and would only say so.
    assert "results/tiny/figures/short_term/critical_difference.png" not in listed
    for path in (checkout.folder / name for name in listed):
        first, beside = {".png": (b"\x89PNG", ".svg"), ".gif": (b"GIF8", ".mp4")}[path.suffix]
        assert path.read_bytes().startswith(first) and path.with_suffix(beside).is_file()

    checkout.edit("stp/render/figures/ranks.py")
    planned = jobs(snakemake(checkout, "-n", "--quiet", "host", "--", TABLE, ALL))
    assert planned == {"figure_of_dimension", "all_figures"}
