"""README and the pages that it begins with: short, complete, with links that lead somewhere."""

import re
from pathlib import Path

import pytest

from stp.run.snakemake_command import scale_file

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("README.md", "docs/guide.md", "docs/from_openstl.md", "docs/from_weatherbench.md")
SHOWN = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}


def test_it_is_read_in_a_few_minutes() -> None:
    assert len(README.splitlines()) < 200


def test_it_names_every_page_once() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    by_task = README.split("## Documentation, by task")[1].split("\n## ")[0]
    listed = re.findall(r"\(docs/(\w+[\w-]*\.md)\)", by_task)
    assert len(listed) == len(set(listed))
    assert pages <= set(re.findall(r"\(docs/([\w-]+\.md)\)", README))


@pytest.mark.parametrize("page", PAGES)
def test_its_links_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)", SHOWN[page]):
        assert link.startswith("https://") or (ROOT / page).parent.joinpath(link).exists(), link


def test_the_scales_of_the_suites_exist() -> None:
    table = README.split("| suite |")[1].split("\n\n")[0]
    scales = [
        name
        for row in table.splitlines()[2:]
        for name in re.findall(r"`([\w-]+)`", row.rpartition("| ")[2])
    ]
    assert len(scales) > 12
    for name in scales:
        assert scale_file(name).is_file()
