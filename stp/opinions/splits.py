"""Splits of the videos into training and test: at random, or by what videos have in common."""

import numpy as np


def random_splits(videos: int, test: int, times: int, seed: int) -> np.ndarray:
    """Draw splits, each on its own: a video is in several tests.

    Args:
        videos: their number V.
        test: of these in each test.
        times: splits S.
        seed: of all.

    Returns:
        bool (S, V): is the video in the test?
    """
    rng = np.random.default_rng(seed)
    found = np.zeros((times, videos), bool)
    for row in found:
        row[rng.permutation(videos)[:test]] = True
    return found


def leave_one_out(groups: np.ndarray) -> np.ndarray:
    """Test on each group once, and train on all others.

    Args:
        groups: names, (V,); videos without a name (None, "") are always in training.

    Returns:
        bool (G, V), in the order of the sorted names.
    """
    named = np.array(["" if name is None else str(name) for name in groups])
    return np.array([named == name for name in np.unique(named) if name])


def share_of_training(is_test: np.ndarray, percent: int, seed: int) -> np.ndarray:
    """Choose some training videos of a split; fewer per cent are among more.

    Args:
        is_test: bool (V,).
        percent: of all V videos, such as 10 of 300: 30 videos; all of training where that is more.
        seed: of the order of the training videos.

    Returns:
        numbers of the chosen videos, sorted.
    """
    training = np.flatnonzero(~is_test)
    wanted = round(len(is_test) * percent / 100)
    return np.sort(np.random.default_rng(seed).permutation(training)[:wanted])
