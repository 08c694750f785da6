"""Makes small stores and toy scores importable: render reads what collect and score write."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "collect"), str(TESTS / "score"), str(TESTS / "tracks")]
