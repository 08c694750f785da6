"""properscoring without numba, which would compile for longer than all tests take."""

import sys
from typing import Any

import pytest

_modules: dict[str, Any] = sys.modules
with pytest.MonkeyPatch.context() as patch:
    patch.setitem(_modules, "numba", None)  # restores this key only: other imports stay
    import properscoring

__all__ = ["properscoring"]
