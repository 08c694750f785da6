"""What is at hand on this machine is no part of any edit."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def nothing_at_hand() -> Iterator[None]:
    """Without weights of networks that measure, whose scores would be a second job of each cell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("STP_WEIGHTS_DIR", raising=False)
        yield
