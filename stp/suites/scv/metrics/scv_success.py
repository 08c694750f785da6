"""Success of predicted games by their rules (`stp.suites.scv.rules`)."""

import numpy as np

from stp.metrics.metric import Metric
from stp.suites.scv.rules import GAMES, NO_VALUE, GameName, share_of_kept_rules


def scv_success(*, game: GameName) -> Metric:
    """Make the metric: the share of videos that keep all rules of a game in all frames.

    Args:
        game: name of the game whose rules are judged.
    """
    rules = GAMES[game]

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        shares = share_of_kept_rules(rules, predicted, observed)
        return np.where(np.isfinite(shares), shares == 1, shares)[:, None, None]

    return Metric(statistics, leads="pool", no_value=NO_VALUE, independent_leads=False, share=True)


def partial_success(*, game: GameName) -> Metric:
    """Make the metric: the share of the rules of a game that a video keeps, mean over videos.

    Args:
        game: name of the game whose rules are judged.
    """
    rules = GAMES[game]

    def statistics(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
        return share_of_kept_rules(rules, predicted, observed)[:, None, None]

    return scv_success(game=game)._replace(statistics=statistics)
