"""docs/trust.md names tests that exist, and says of counts and names what is so."""

import re
from pathlib import Path

import pytest
from parts import PARTS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "trust.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_the_page_names_exists(file: str, name: str):
    assert f"\ndef {name}(" in (ROOT / file).read_text()


def test_parts_that_the_page_names_exist():
    assert set(re.findall(r"part `([\w-]+)`", PAGE)) <= set(PARTS)


def test_every_reader_is_counted():
    from readers import READERS

    assert re.findall(r"\| ([^|]+?) \| \d+ (?=\|)", PAGE) == list(READERS)
    assert f"seeded damage to {len(READERS)} kinds of files" in PAGE
