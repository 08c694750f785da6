"""What several modules begin with is made once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import Checkout


@pytest.fixture(scope="session")
def tiny(made_once: Callable[[str, Callable[[Path], object]], Path]) -> Checkout:
    """A checkout whose table was made at the tiny scale, for all workers; begin with a copy."""

    def make(folder: Path) -> None:
        Checkout.create(folder / "checkout", folder / "shared").make()

    folder = made_once("tiny", make)
    return Checkout(folder / "checkout", folder / "shared")
