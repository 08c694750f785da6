"""Makes the small store of the tests of collect importable: render reads what collect writes."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "collect"))
