"""Makes small stores importable: the report reads what collect and score write."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("collect", "score", "render")]
