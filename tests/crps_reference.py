"""The library properscoring without numba, which would compile for longer than all tests take."""

import sys
from unittest import mock

with mock.patch.dict(sys.modules, {"numba": None}):
    import properscoring

__all__ = ["properscoring"]
