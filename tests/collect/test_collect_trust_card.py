"""What a metric surely follows, by the intervals of its correlations with intensities."""

import pytest

from stp.collect.sensitivity import Curve
from stp.collect.trust_card import OfDataset
from stp.data.distortions import DISTORTIONS


@pytest.mark.parametrize(
    ("interval", "followed"),
    [
        ((0.5, 1.0), {"local_swap", "global_swap", "interleaving"}),
        ((-1.0, -0.5), {"switching"}),  # the later, the fewer frames are of another clip
        ((-0.5, 0.5), set()),
        ((None, None), set()),
    ],
)
def test_a_metric_follows_what_gets_worse_with_the_damage(
    interval: tuple[float | None, float | None], followed: set[str]
) -> None:
    low, high = interval
    given = [
        Curve("bair", name, "fvd.predicted_only", (1, 2, 3), (1.0, 2.0, 3.0), 256, 0.9, low, high)
        for name in DISTORTIONS
    ]
    card = OfDataset(given, [], None, None)
    assert set(card.follows(temporal=True)) == followed
    assert card.number(temporal=True) == 4
