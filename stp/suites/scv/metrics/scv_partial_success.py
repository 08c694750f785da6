"""How much of its rules does a predicted game keep? See stp.suites.scv.rules."""

import numpy as np

from stp.metrics.metric import Metric
from stp.suites.scv import rules


def _metric(game: rules.Game) -> Metric:
    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return rules.kept(game, predicted, observed)[:, None, None]

    return Metric(
        statistics,
        leads="pool",
        no_value=rules.NO_VALUE,
        independent_leads=False,
        share=True,
    )


move_unit = _metric(rules.move_unit)
"""Share of rules of Move Unit to Border that a video keeps, over its frames."""

collect_shards = _metric(rules.collect_shards)
"""Share of rules of Collect Mineral Shards that a video keeps, over frames and shards."""

brawl = _metric(rules.brawl)
"""Share of rules of Brawl that a video keeps, over frames and armies."""

road_trip = _metric(rules.road_trip)
"""Share of rules of Road Trip with Medivac that a video keeps, over frames and units."""
