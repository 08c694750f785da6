"""Plans do not depend on the weights on this machine."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def without_weights() -> Iterator[None]:
    """With weights of networks of metrics, each cell would have a second job of scores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("STP_WEIGHTS_DIR", raising=False)
        yield
