"""What a metric surely follows, by the intervals of its correlations with intensities."""

from pathlib import Path

import pytest
from small_store import SmallStore, convention_facts, suite, table_column

from stp.collect.direction import NO_DIRECTION
from stp.collect.sensitivity import Curve, curves
from stp.collect.trust_card import OfDataset
from stp.data.distortions import DISTORTIONS
from stp.plan.manifest import load_manifest


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


def test_what_is_best_at_a_value_gets_worse_away_from_it(tmp_path: Path) -> None:
    store = SmallStore(tmp_path)
    conventions = {
        "spectral_power.fine_detail": convention_facts(best_at=1.0),
        "spread.pooled": convention_facts(),
    }
    store.manifest |= {
        "suite": suite("fvd_study"),
        "dimension": "video_distortions",
        "conventions": conventions,
        "tables": {
            "video_distortions": {
                "columns": {"bair": [table_column(name, name) for name in conventions]}
            }
        },
    }
    key = {"suite": "fvd_study", "dimension": "video_distortions"}
    powers = {"gaussian_blur": (0.9, 0.6, 0.3), "gaussian_noise": (1.1, 1.5, 3.0)}
    for name, of in powers.items():
        for number, power in enumerate(of, 1):
            given = {convention: {"mean": power} for convention in conventions}
            store.add(name, "bair", given, setting=f"horizon-16+intensity-{number}", **key)
    found = {
        (one.distortion, one.convention): (one.correlation, one.why)
        for one in curves(load_manifest(store.write()), resamples=0)
    }
    for name in powers:
        (correlation, _) = found[name, "spectral_power.fine_detail"]
        assert correlation == pytest.approx(1.0), "blur is below 1, noise above it"
        assert found[name, "spread.pooled"] == (None, NO_DIRECTION)
