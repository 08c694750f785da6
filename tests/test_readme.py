"""README and the pages that it begins with: short, complete, and with commands that exist."""

import re
import shlex
from pathlib import Path

import click
import pytest

from stp.cli import command
from stp.run.snakemake_command import scale_file

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ("README.md", "docs/guide.md", "docs/from_openstl.md", "docs/from_weatherbench.md")
SHOWN = {page: (ROOT / page).read_text(encoding="utf-8") for page in PAGES}


def blocks(page: str) -> list[str]:
    """Commands of `stp` in blocks that can be copied, without comments and with lines joined."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", SHOWN[page], re.DOTALL):
        lines = re.split(r"\n(?=stp |snakemake |make )", block)
        found += [line for line in lines if line.startswith("stp ")]
    return found


BLOCKS = [(page, text) for page in PAGES for text in blocks(page)]
INLINE = sorted({text for page in PAGES for text in re.findall(r"`(stp [^`]*)`", SHOWN[page])})


def verb(words: list[str]) -> tuple[click.Command, list[str]]:
    """The verb that words call, and the rest of them."""
    found = command()
    while words and isinstance(found, click.Group) and not words[0].startswith("-"):
        if words[0] not in found.commands:
            raise AssertionError(f"there is no verb {words[0]}")
        found, words = found.commands[words[0]], words[1:]
    return found, words


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


@pytest.mark.parametrize(("page", "text"), BLOCKS)
def test_a_command_that_can_be_copied_is_understood(page: str, text: str) -> None:
    found, words = verb(shlex.split(text, comments=True)[1:])
    found.make_context("stp", words)


@pytest.mark.parametrize("text", INLINE)
def test_a_command_that_is_named_exists(text: str) -> None:
    verb(shlex.split(text)[1:])


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
