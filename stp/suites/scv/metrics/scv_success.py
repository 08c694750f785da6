"""Does a predicted game keep its rules, all of them in all frames? See stp.suites.scv.rules."""

import numpy as np

from stp.metrics.metric import Metric
from stp.suites.scv import rules


def _metric(game: rules.Game) -> Metric:
    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        found = rules.kept(game, predicted, observed)
        return np.where(np.isfinite(found), found == 1, found)[:, None, None]

    return Metric(
        statistics,
        leads="pool",
        no_value=rules.NO_VALUE,
        independent_leads=False,
        share=True,
    )


move_unit = _metric(rules.move_unit)
"""Share of videos in which one unit stays the same and goes straight on."""

collect_shards = _metric(rules.collect_shards)
"""Share of videos with two units in which shards are collected once, by a unit that is there."""

brawl = _metric(rules.brawl)
"""Share of videos in which armies only lose units, and one is left."""

road_trip = _metric(rules.road_trip)
"""Share of videos in which units are picked up once, and the same ones are delivered."""
