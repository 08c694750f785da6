"""Does a predicted game keep its rules, all of them in all frames? See stp.metrics.scv_rules."""

import numpy as np

from stp.metrics import scv_rules
from stp.metrics.metric import Metric


def _metric(game: scv_rules.Game) -> Metric:
    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        found = scv_rules.kept(game, predicted, observed)
        return np.where(np.isfinite(found), found == 1, found)[:, None, None]

    return Metric(
        statistics,
        leads="pool",
        no_value=scv_rules.NO_VALUE,
        independent_leads=False,
        share=True,
    )


move_unit = _metric(scv_rules.move_unit)
"""Share of videos in which one unit stays the same and goes straight on."""

collect_shards = _metric(scv_rules.collect_shards)
"""Share of videos with two units in which shards are collected once, by a unit that is there."""

brawl = _metric(scv_rules.brawl)
"""Share of videos in which armies only lose units, and one is left."""

road_trip = _metric(scv_rules.road_trip)
"""Share of videos in which units are picked up once, and the same ones are delivered."""
