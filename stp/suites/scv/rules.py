"""Judge to what degree a video keeps the rules of a simple StarCraft game.

Videos are drawn by `stp.datasets.scv.appearance`; units are blobs (`stp.suites.scv.blobs`).
Unterthiner et al. 2018, section 3.2: "any valid RTwM video must consist of a pick-up,
transportation, and drop-off phase, and the same number and type of units that were picked up must
be dropped off again".

The first observed frame shows the objects and their positions. A video in which nothing happens
breaks rules: at least half as much as in the observed video must be collected, lost or picked up,
and units must move at least half as far.

Some rules state what must stay the same in each frame, others what must happen. The share of the
rules that a video keeps is the mean over rules of the first kind times the mean over rules of the
second kind. So a video gets no credit for changes of wrong objects, or for right objects without
changes.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np

from stp.datasets.scv.appearance import BEACON, DEPTH, MEDIVAC, RADII, SHARD, TEAMS
from stp.suites.scv.blobs import Seen, area_of, assign, follow, match_appearance, see

SURE = 0.5
"""Share of an object that must be visible for it to be present."""
HALF = 0.5
"""Share of the changes in the observed video that must happen in the predicted one."""
STRANGE = 3.0
"""Maximum area without a colour of the game, in areas of the smallest unit."""
MARINE_STEP, ARMY_STEP, MEDIVAC_STEP = 0.030, 0.036, 0.11
"""Maximum movement of objects between recorded frames, in widths of the map."""
RANGE = 0.175
"""Maximum distance between the edges of two units of which one is lost, in widths of the map."""
ARMIES = ("zerg", "terran")
LOSSES = 4
"""Maximum number of units that an army loses between recorded frames."""


class Judged(NamedTuple):
    """Degree to which a video keeps each rule, 0..1.

    Attributes:
        stays: for rules on what must stay the same: by text of the rule, the fraction of frames, or
            of objects in frames, that keep it.
        happens: for changes that must happen, such as "it moves": by text of the change, the
            fraction of the required amount; None if the change is not required.
    """

    stays: dict[str, float]
    happens: dict[str, float | None]

    @property
    def share(self) -> float:
        """Share of the rules that are kept, 0..1; 1 only if all rules are kept in all frames."""
        happens = [share for share in self.happens.values() if share is not None]
        done = np.mean(happens) if happens else 1.0
        return float(np.mean(list(self.stays.values())) * done)


class Game(NamedTuple):
    """A game whose rules its videos must keep.

    Attributes:
        colours: possible colours, keys of `stp.datasets.scv.appearance.COLOURS`.
        judge: function from the blobs of a predicted and of the observed video to the degree to
            which the predicted video keeps the rules.
    """

    colours: tuple[str, ...]
    judge: Callable[[Seen, Seen], Judged]


NOTHING = Judged({"what there is at the beginning": 0.0}, {})
"""Result if the objects of the first observed frame are not recognised."""


def _share_done(done: float, needed: float) -> float | None:
    """Share of the required amount that is done, at most 1; None if nothing is required."""
    return float(np.clip(done / needed, 0, 1)) if needed > 0 else None


def _only_known_colours(blobs: Seen) -> np.ndarray:
    """Whether each frame is free of objects in other colours, bool (T,)."""
    strange = blobs.cover["none"].sum(axis=(1, 2))
    return np.asarray(strange <= STRANGE * area_of(RADII[0], blobs.size))


def _discs(places: Iterable[np.ndarray], radius: float, size: int) -> list[np.ndarray]:
    rows, columns = np.mgrid[:size, :size]
    return [np.hypot(rows - at[0], columns - at[1]) < radius for at in places]


def _move_unit(predicted: Seen, observed: Seen) -> Judged:
    """Judge a game in which one unit keeps its colour, area and direction of movement."""
    units = observed.of(*TEAMS)
    if any(len(blobs) != 1 for blobs in (units[0], units[-1])):
        return NOTHING
    unit, frames = units[0][0], predicted.of(*TEAMS)
    alone, colour, area = np.zeros((3, len(frames)), bool)
    places = np.full((len(frames), 2), np.nan)
    for t, blobs in enumerate(frames):
        if blobs:
            largest = max(blobs, key=lambda blob: blob.area)
            alone[t], colour[t] = len(blobs) == 1, largest.colour == unit.colour
            area[t] = match_appearance([unit], [largest._replace(colour=unit.colour)])[0, 0]
            places[t] = largest.place
    way = (units[-1][0].place - unit.place) / max(len(units) - 1, 1)
    length = float(np.hypot(*way))
    steps = np.diff(places, axis=0)
    bends = np.linalg.norm(steps - way, axis=1)
    # The direction is judged over all steps, since single steps of a pixel are too coarse.
    gone = np.hypot(*(places[-1] - places[0] - way * len(steps)))
    starts = np.hypot(*(places[0] - unit.place)) <= length / 2 + 0.5
    arrives = gone <= length * len(steps) / 4 + 0.5
    straight = np.append(bends <= HALF * length + 0.3, [starts, arrives])
    moves = np.linalg.norm(steps, axis=1) > HALF * length - 0.3
    return Judged(
        {
            "there is one unit": (alone & _only_known_colours(predicted)).mean(),
            "its colour": colour.mean(),
            "its area": area.mean(),
            "it goes where it was sent": straight.mean(),
        },
        {"it moves": moves.mean() if len(moves) else None},
    )


def _collect_shards(predicted: Seen, observed: Seen) -> Judged:
    """Judge a game of two units, in which each shard is collected once, by a unit that reaches it.

    At least half as many shards must be collected as in the observed video.
    """
    size = predicted.size
    units = observed.of("blue")[0]
    shards = np.array([blob.place for blob in observed.of("shard")[0]])
    if len(units) != 2 or not len(shards) or not _only_known_colours(observed)[0]:
        return NOTHING
    true, ours = (
        follow(units, seen.of("blue"), MARINE_STEP * size) for seen in (observed, predicted)
    )
    discs = _discs(shards, 1.6 * SHARD * size + 1, size)
    full = area_of(SHARD, size)
    elsewhere = ~np.any(discs, axis=0)

    def lie(blobs: Seen) -> np.ndarray:
        """Whether each shard is present, (T, shards)."""
        shares = [blobs.cover["shard"][:, disc].sum(axis=1) for disc in discs]
        return np.stack(shares, axis=1) > SURE * full

    # Distances from units, in the previous or in this frame, to each shard.
    gaps = np.linalg.norm(ours.places[:, :, None] - shards, axis=-1).min(axis=0)
    touch = RADII[1] * (1 + DEPTH) + SHARD
    is_reached = np.minimum(gaps[:-1], gaps[1:]) <= (touch + MARINE_STEP / 2) * size + 1
    present = lie(predicted)
    before = np.vstack([np.ones(len(shards), bool), present[:-1]])
    # A shard that returns, or vanishes without a unit, is wrong from then on.
    wrong = (present & ~before) | (before & ~present & ~is_reached)
    right = ~np.logical_or.accumulate(wrong)
    new = predicted.cover["shard"][:, elsewhere].sum(axis=1) > SURE * full
    return Judged(
        {
            "there are two units": ((ours.seen.mean(axis=0) * (ours.others == 0)).mean()),
            "shards stay, or are collected by a unit": (
                right.mean(axis=1) * (_only_known_colours(predicted) & ~new)
            ).mean(),
        },
        {
            "units move": _share_done(ours.farthest, HALF * true.farthest),
            "shards are collected": _share_done(
                (right[-1] & ~present[-1]).sum(), HALF * (~lie(observed)[-1]).sum()
            ),
        },
    )


def _brawl(predicted: Seen, observed: Seen) -> Judged:
    """Judge a game in which units are lost for good, near an enemy, few at once; one army is left.

    At least half as many units must be lost as in the observed video.
    """
    size = predicted.size
    units = observed.of(*ARMIES)[0]
    army = np.array([ARMIES.index(unit.colour) for unit in units])
    if len(set(army)) != len(ARMIES):
        return NOTHING
    ours, true = (
        follow(units, seen.of(*ARMIES), ARMY_STEP * size) for seen in (predicted, observed)
    )
    radii = np.array([unit.radius for unit in units])
    lives = np.ones(len(units), bool)
    right = np.ones_like(ours.seen)
    for t, seen in enumerate(ours.seen.T):
        places = ours.places[:, t]
        gaps = np.linalg.norm(places[:, None] - places, axis=-1) - radii[:, None] - radii
        gaps[:, ~lives] = np.inf
        gaps[army[:, None] == army] = np.inf
        lost = lives & ~seen
        at_once = np.bincount(army, lost)[army]
        # A unit that vanishes far from enemies, or returns, is wrong from then on.
        wrong = (seen & ~lives) | (lost & ((gaps.min(axis=1) > RANGE * size) | (at_once > LOSSES)))
        right[wrong, t:] = False
        lives &= seen
    count = len(units) + ours.others
    died = [~paths.seen[:, -1] for paths in (ours, true)]
    return Judged(
        {
            "units fight on, or are lost near an enemy": (
                right.sum(axis=0) / count * _only_known_colours(predicted)
            ).mean(),
            "one army is left": (ours.seen & right).any(axis=0).mean(),
        },
        {
            "units move": _share_done(ours.farthest, HALF * true.farthest),
            "units are lost": _share_done((died[0] & right[:, -1]).sum(), HALF * died[1].sum()),
        },
    )


def _road_trip(predicted: Seen, observed: Seen) -> Judged:
    """Judge a game in which one medivac picks up every unit once, and delivers the same units.

    Units must be delivered at a beacon, by the end if they are in the observed video, and at least
    half as many must be picked up as in that video.
    """
    size = predicted.size
    teams = observed.of(*TEAMS)
    first, back, start = teams[0], teams[-1], observed.of("medivac")[0]
    # Some or all may have been picked up before the first observed frame.
    rest, missed = list(first), []
    for blob in back:
        same = np.flatnonzero(match_appearance(rest, [blob]))
        if len(same):
            del rest[same[0]]
        else:
            missed.append(blob)
    units = first + missed
    if len(start) != 1 or len(units) > 4:
        return NOTHING
    ours, true = (
        follow(start, seen.of("medivac"), MEDIVAC_STEP * size) for seen in (predicted, observed)
    )
    beacons = [blob.place for blobs in observed.of("beacon") for blob in blobs]
    phase = np.array(["waiting"] * len(first) + ["inside"] * len(missed), dtype="<U9")
    places = np.array([blob.place for blob in units]).reshape(-1, 2)
    near, beside = 0.02 * size + 0.5, (MEDIVAC + RADII[-1] + 0.03) * size + 0.5
    touch = np.array([MEDIVAC * size + blob.radius for blob in units])
    # A unit that vanishes far from the medivac, or after its delivery, is wrong from then on.
    right = np.ones(len(units), bool)
    of_medivac = ours.seen[0] & (ours.others == 0) & _only_known_colours(predicted)
    of_units = np.zeros(len(of_medivac))
    for t, blobs in enumerate(predicted.of(*TEAMS)):
        medivac, inside = ours.places[0, t + 1], phase == "inside"
        places[inside] = medivac
        match = assign(units, places, np.where(inside, beside, near), blobs)
        gone = np.array([blob is None for blob in match], bool)
        # The medivac touches the unit on a path between frames that is at most a step long.
        way = np.linalg.norm(places[:, None] - ours.places[0, t : t + 2], axis=-1).sum(axis=1)
        taken = (phase == "waiting") & gone
        right &= ~taken | (way <= 2 * touch + MEDIVAC_STEP * size + 1)
        right &= (phase != "delivered") | ~gone
        let_out = inside & ~gone
        at_beacon = [np.hypot(*(at - medivac)) <= (BEACON + MEDIVAC_STEP) * size for at in beacons]
        right &= ~let_out | any(at_beacon)
        phase[taken], phase[let_out] = "inside", "delivered"
        for i, unit in enumerate(match):
            if unit is not None and let_out[i]:
                places[i] = unit.place
        # Units can only be inside a medivac that is recognised.
        is_outside = (phase != "inside") | of_medivac[t]
        count = len(units) + len(blobs) - (~gone).sum()
        of_units[t] = (right & is_outside).sum() / count if count else 1
    full = area_of(BEACON, size)
    lie = [blob.place for blob in observed.of("beacon")[0] if blob.area > SURE * full]
    over = np.sum([predicted.cover[colour] for colour in ("beacon", "medivac", *TEAMS)], axis=0)
    discs = _discs(lie, BEACON * size, size)
    stay = [over[:, disc].sum(axis=1) > SURE / 2 * full for disc in discs]  # discs are faint
    starts = np.array([blob.place for blob in first]).reshape(-1, 2)
    waiting = [blob for blob in assign(first, starts, np.full(len(first), near), back) if blob]
    picked_up = (right & (phase != "waiting"))[: len(first)].sum()
    is_over = len(units) > 0 and not waiting and len(back) >= len(units)
    return Judged(
        {
            "there is one medivac": of_medivac.mean(),
            "units wait, are in it, or are delivered": of_units.mean(),
            "beacons stay": float(np.mean(stay)) if stay else 1.0,
        },
        {
            "it moves": _share_done(ours.farthest, HALF * true.farthest),
            "units are picked up": _share_done(picked_up, HALF * (len(first) - len(waiting))),
            "all are delivered": (right & (phase == "delivered")).mean() if is_over else None,
        },
    )


move_unit = Game((*TEAMS, "cue"), _move_unit)
collect_shards = Game(("blue", "shard", "cue"), _collect_shards)
brawl = Game((*ARMIES, "yellow"), _brawl)
road_trip = Game((*TEAMS, "medivac", "beacon"), _road_trip)


def share_of_kept_rules(game: Game, predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The share of the rules of a game that each video keeps.

    Args:
        game: a game of this module.
        predicted: predicted videos, (N, T, C, H, W) in 0..1.
        observed: observed videos, (N, T, C, H, W) in 0..1.

    Returns:
        share for each video, (N,) in 0..1; 1 if all rules are kept. NaN if predictions contain NaN;
        infinite if the observed video itself breaks a rule. Videos of the real game do this, since
        their objects are not recognised.
    """
    shares = np.full(len(predicted), np.inf)
    if predicted.shape[2] != 3:
        return shares
    for i, (video, truth) in enumerate(zip(predicted, observed, strict=True)):
        true = see(truth, game.colours)
        if game.judge(true, true).share == 1:
            shares[i] = game.judge(see(video, game.colours), true).share
    shares[np.isnan(predicted).any(axis=(1, 2, 3, 4))] = np.nan
    return shares


NO_VALUE = "things in the observed videos are not recognised: they are not drawn by the generator"

GameName = Literal["move_unit", "collect_shards", "brawl", "road_trip"]
GAMES: dict[GameName, Game] = {
    "move_unit": move_unit,
    "collect_shards": collect_shards,
    "brawl": brawl,
    "road_trip": road_trip,
}
