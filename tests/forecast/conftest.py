"""Small files of one's own, as the tests of their reader make them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
