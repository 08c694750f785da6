"""What a dataset gives: its scenarios by each protocol, and why other moments are none."""

from typing import Any

import numpy as np

from stp.options.protocols import PROTOCOLS
from stp.tracks.gaps import filled
from stp.tracks.prepared import Place
from stp.tracks.scenarios import extract
from stp.tracks.tracks import Tracks

NOBODY = "nobody is there"
COMES = "somebody comes or goes while observed"
LEAVES = "somebody leaves before the end"
GAP = "somebody has a gap"
FEW = "too few people"
REASONS = (NOBODY, COMES, LEAVES, GAP, FEW)


def survey(place: Place, *, observe: int, predict: int) -> dict[str, Any]:
    """Count scenarios, episodes and people, and the moments that are left out.

    Args:
        place: the dataset.
        observe, predict: numbers of positions.

    Returns:
        protocol -> ``calibration`` or ``test`` -> moments, scenarios, episodes, people (who appear
        in a scenario, each time), and left_out: reason -> moments. A moment has the first reason
        of `REASONS` that holds.
    """
    return {
        protocol: {
            part: _part(place, part, protocol, observe, predict)
            for part in place.filled_parts(protocol)
        }
        for protocol in PROTOCOLS
    }


def _part(place: Place, part: str, protocol: str, observe: int, predict: int) -> dict[str, Any]:
    tracks, rules = place.part(part, protocol), place.rules(protocol)
    found = extract(tracks, observe=observe, predict=predict, **rules)
    first, last = int(tracks.frame.min()), int(tracks.frame.max())
    kept = tracks.decimated(rules["decimate"])
    starts = np.arange(first, last, kept.step)
    why = _reasons(kept, starts, observe, predict, rules["fewest"])
    if PROTOCOLS[protocol].may_come_and_go:
        why = np.where(why == REASONS.index(NOBODY), why, REASONS.index(FEW))
    why = why[~np.isin(starts, found.start)]
    counts = {reason: int((why == number).sum()) for number, reason in enumerate(REASONS)}
    return {
        "moments": found.looked_at,
        "scenarios": len(found),
        "episodes": len(np.unique(found.episode)),
        "people": int(found.followed.sum()),
        "left_out": {reason: count for reason, count in counts.items() if count},
    }


def _reasons(
    tracks: Tracks, starts: np.ndarray, observe: int, predict: int, fewest: int
) -> np.ndarray:
    """The number of the reason for each moment, if it is no scenario, (starts,)."""
    step = tracks.step
    whole = filled(tracks)
    there, comes, leaves = (np.zeros(len(starts), np.int64) for _ in range(3))
    for rows in whole.people().values():
        frame = whole.frame[rows]
        # the moments whose observation can hold any of this person
        begin, end = np.searchsorted(starts, [frame[0] - observe * step, frame[-1] + 1])
        own = starts[begin:end]
        first, middle, last = (
            np.searchsorted(frame, own + steps * step) for steps in (0, observe, observe + predict)
        )
        seen, follow = middle - first, last - middle
        there[begin:end] += seen > 0
        comes[begin:end] += (seen > 0) & (seen < observe)
        leaves[begin:end] += (seen >= observe) & (follow < predict)
    holds = [there == 0, comes > 0, leaves > 0, there >= fewest, there < fewest]
    return np.argmax(np.stack(holds), axis=0)
