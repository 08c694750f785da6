"""Fixtures of the training tests."""

from pathlib import Path

import pytest
from moving_bar import write_data


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Prepared data of a moving bar."""
    return write_data(tmp_path / "data")
