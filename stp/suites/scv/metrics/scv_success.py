"""Does a predicted game keep its rules? See stp.suites.scv.rules."""

import numpy as np

from stp.metrics.metric import Metric
from stp.suites.scv.rules import GAMES, NO_VALUE, GameName, kept


def scv_success(*, game: GameName) -> Metric:
    """All of them in all frames?"""
    rules = GAMES[game]

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        found = kept(rules, predicted, observed)
        return np.where(np.isfinite(found), found == 1, found)[:, None, None]

    return Metric(statistics, leads="pool", no_value=NO_VALUE, independent_leads=False, share=True)


def partial_success(*, game: GameName) -> Metric:
    """How much of them?"""
    rules = GAMES[game]

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return kept(rules, predicted, observed)[:, None, None]

    return scv_success(game=game)._replace(statistics=statistics)
