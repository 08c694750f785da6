"""README and pages of docs: their links lead somewhere, and the scales of the suites exist."""

import re
from pathlib import Path

import pytest

from stp.run.snakemake_command import scale_file

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        target = (ROOT / page).parent / name if name else ROOT / page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


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
