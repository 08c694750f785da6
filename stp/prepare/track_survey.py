"""Count the scenarios of a dataset of tracks, and the moments without a scenario, with reasons.

A scenario, one sample, is a moment at which all people present were seen long enough. A protocol is
a set of rules for this. An episode is a group of scenarios that overlap in time.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from stp.options.protocols import PROTOCOLS
from stp.tracks.gaps import fill_gaps
from stp.tracks.prepared import PreparedTracks
from stp.tracks.scenarios import extract
from stp.tracks.tracks import Tracks

NOBODY = "nobody is there"
COMES = "somebody comes or goes while observed"
LEAVES = "somebody leaves before the end"
GAP = "somebody has a gap"
FEW = "too few people"
REASONS = (NOBODY, COMES, LEAVES, GAP, FEW)


def survey(
    data: PreparedTracks, *, observe: int, predict: int, protocols: Iterable[str] = PROTOCOLS
) -> dict[str, Any]:
    """Count scenarios, episodes and people, and the moments that are left out.

    An episode is a group of scenarios that overlap in time. Moments are the frames at which a
    scenario could begin.

    Args:
        data: the prepared dataset.
        observe: number of observed positions of a scenario.
        predict: number of positions of a scenario that are to be predicted.
        protocols: names of protocols (rules for which moments give a scenario).

    Returns:
        numbers by protocol, and then by part of the data (``calibration`` or ``test``):
        ``moments``, ``scenarios``, ``episodes``, ``people`` (whose future is known, summed over
        scenarios), and ``left_out``: numbers of moments by reason, such as "too few people". The
        reason of a moment is the first of `REASONS` that applies.
    """
    return {
        protocol: {
            part: _part(data, part, protocol, observe, predict)
            for part in data.nonempty_parts(protocol)
        }
        for protocol in protocols
    }


def _part(
    data: PreparedTracks, part: str, protocol: str, observe: int, predict: int
) -> dict[str, Any]:
    tracks, rules = data.part(part, protocol), data.rules(protocol)
    scenarios = extract(tracks, observe=observe, predict=predict, **rules)
    first, last = int(tracks.frame.min()), int(tracks.frame.max())
    kept = tracks.decimated(rules["decimate"])
    starts = np.arange(first, last, kept.step)
    why = _reasons(kept, starts, observe, predict, rules["fewest"])
    if PROTOCOLS[protocol].may_come_and_go:
        why = np.where(why == REASONS.index(NOBODY), why, REASONS.index(FEW))
    why = why[~np.isin(starts, scenarios.start)]
    counts = {reason: int((why == number).sum()) for number, reason in enumerate(REASONS)}
    return {
        "moments": scenarios.looked_at,
        "scenarios": len(scenarios),
        "episodes": len(np.unique(scenarios.episode)),
        "people": int(scenarios.has_future.sum()),
        "left_out": {reason: count for reason, count in counts.items() if count},
    }


def _reasons(
    tracks: Tracks, starts: np.ndarray, observe: int, predict: int, fewest: int
) -> np.ndarray:
    """Index of the reason why each moment is not a scenario, (starts,)."""
    step = tracks.step
    whole = fill_gaps(tracks)
    present, comes, leaves = (np.zeros(len(starts), np.int64) for _ in range(3))
    for rows in whole.people().values():
        frame = whole.frame[rows]
        # moments whose observation may include this person
        begin, end = np.searchsorted(starts, [frame[0] - observe * step, frame[-1] + 1])
        moments = starts[begin:end]
        first, middle, last = (
            np.searchsorted(frame, moments + steps * step)
            for steps in (0, observe, observe + predict)
        )
        observed, followed = middle - first, last - middle
        present[begin:end] += observed > 0
        comes[begin:end] += (observed > 0) & (observed < observe)
        leaves[begin:end] += (observed >= observe) & (followed < predict)
    applies = [present == 0, comes > 0, leaves > 0, present >= fewest, present < fewest]
    return np.argmax(np.stack(applies), axis=0)
