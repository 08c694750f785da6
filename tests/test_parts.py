"""Long tests are in parts that have a name, and CI chooses each part again and again."""

import re
from collections import Counter
from pathlib import Path

from parts import AT_A_TIME, ON_DEMAND, PARTS, chosen

HERE = Path(__file__).parent


def test_every_part_has_tests():
    texts = [path.read_text() for path in HERE.rglob("test_*.py")]
    assert {part for text in texts for part in re.findall(r'long\(part="(.*?)"', text)} == {*PARTS}


def test_a_commit_chooses_its_parts_and_no_part_is_left_out():
    assert chosen("48fbe49") == chosen("48fbe49")
    counted = Counter(part for number in range(700) for part in chosen(f"{number:040x}"))
    assert counted.keys() == PARTS.keys() - ON_DEMAND and counted.total() == 700 * AT_A_TIME
    assert min(counted.values()) > 700 * AT_A_TIME / len(PARTS) / 2
