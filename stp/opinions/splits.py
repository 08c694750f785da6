"""Splits of the videos into training and test: at random, or by groups of videos."""

import numpy as np


def random_splits(videos: int, test: int, times: int, seed: int) -> np.ndarray:
    """Draw splits independently, so that a video can be in several test sets.

    Args:
        videos: number of videos V.
        test: number of test videos of each split.
        times: number of splits S.
        seed: seed of all splits.

    Returns:
        the test videos of each split, bool (S, V).
    """
    rng = np.random.default_rng(seed)
    is_test = np.zeros((times, videos), bool)
    for row in is_test:
        row[rng.permutation(videos)[:test]] = True
    return is_test


def leave_one_out(groups: np.ndarray) -> np.ndarray:
    """Test on each group once, and train on all others.

    Args:
        groups: name of the group of each video, (V,); videos without a group (None, "") are always
            in training.

    Returns:
        the test videos of each split, bool (G, V), in the order of the sorted names.
    """
    names = np.array(["" if name is None else str(name) for name in groups])
    return np.array([names == name for name in np.unique(names) if name])


def share_of_training(is_test: np.ndarray, percent: int, seed: int) -> np.ndarray:
    """Choose some training videos of a split at random; a smaller choice is a subset of a larger
    one.

    Args:
        is_test: the test videos, bool (V,).
        percent: number of chosen videos as a percentage of all V videos; 10 percent of 300 videos
            are 30 training videos. All training videos are chosen if there are fewer.
        seed: seed of the order of the training videos.

    Returns:
        indices of the chosen videos, sorted.
    """
    training = np.flatnonzero(~is_test)
    target = round(len(is_test) * percent / 100)
    return np.sort(np.random.default_rng(seed).permutation(training)[:target])
