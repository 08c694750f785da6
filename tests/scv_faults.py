"""StarCraft videos with a known fault, for the rules that have to find it.

Most are drawn from a state that was spoilt, so that what is wrong with each is known; others are
frames of the true videos in another order or another place. Run as a program, this measures the
rates in docs/scv.md: ``python tests/scv_faults.py 50``.
"""

import sys
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import islice

import numpy as np
from conventions import convention
from scipy import ndimage

from stp.datasets.scv.appearance import Thing, draw
from stp.datasets.scv.scenarios import SCENARIOS, Scenario

OF_RULES = {
    "move_unit_to_border": "move_unit",
    "collect_mineral_shards": "collect_shards",
    "brawl": "brawl",
    "road_trip_with_medivac": "road_trip",
}
"""Scenario -> convention."""
RULES = {name: convention(f"scv_success.{rules}") for name, rules in OF_RULES.items()}
LEVELS = ((0.5, 0), (1, 0), (1.5, 0), (2, 0), (0, 0.02), (0, 0.03), (0, 0.05), (0.5, 0.02))
"""Standard deviations of blur, in pixels, and of noise, in 0..1."""
CONTEXT = 2
SIZES = (32, 64, 128)
Things = list[Thing]
Video = list[Things]


@cache
def games(name: str, number: int, seed: int = 5, size: int = 64) -> list[Video]:
    """What is on the map in each frame of some videos, as many as are predicted at that size."""
    length = 12 if size == 32 else 32 if name == "road_trip_with_medivac" else 16
    _, every, play_scene = SCENARIOS[name]
    videos: list[Video] = []
    n = 0
    while len(videos) < number:
        scene = play_scene(np.random.default_rng([seed, n]), Scenario())
        frames = list(islice(scene, 2, 2 + every * length, every))
        n += 1
        if len(frames) >= length:
            videos.append(frames)
    return videos


@lru_cache(maxsize=256)
def picture(things: tuple[Thing, ...], size: int) -> np.ndarray:
    """A frame; most frames of a video with a fault are those of the true one."""
    return draw(things, size)


def drawn(videos: list[Video], size: int = 64) -> np.ndarray:
    """(N, T, 3, size, size) in 0..1, with the context; 32 pixels are 64 halved, as in the demo."""
    full = max(size, 64)
    frames = np.array(
        [[picture(tuple(things), full) for things in video] for video in videos], np.float32
    )
    frames = np.moveaxis(frames / 255, -1, 2)
    k = full // size
    return frames.reshape(*frames.shape[:3], size, k, size, k).mean((4, 6))


def film(videos: list[Video], size: int = 64) -> np.ndarray:
    """Likewise, without the context."""
    return drawn(videos, size)[:, CONTEXT:]


def units(things: Things) -> Things:
    return [thing for thing in things if thing.what == "unit"]


def change(at: int, what: Callable[[Things], Things]) -> Callable[[Video], Video]:
    """Spoil a video from a frame on."""
    return lambda video: [what(things) if t >= at else things for t, things in enumerate(video)]


def every_other(what: Callable[[Things], Things]) -> Callable[[Video], Video]:
    """Spoil every other frame."""
    return lambda video: [what(things) if t % 2 else things for t, things in enumerate(video)]


def without(what: str) -> Callable[[Things], Things]:
    def spoil(things: Things) -> Things:
        first = next((thing for thing in things if thing.what == what), None)
        return [thing for thing in things if thing is not first]

    return spoil


def with_new(what: str, **changes: float) -> Callable[[Things], Things]:
    def spoil(things: Things) -> Things:
        first = next((thing for thing in things if thing.what == what), None)
        return [*things, first._replace(**changes)] if first else things

    return spoil


def other(what: str = "unit", **changes: Callable) -> Callable[[Things], Things]:
    def spoil(things: Things) -> Things:
        return [
            thing._replace(**{key: new(getattr(thing, key)) for key, new in changes.items()})
            if thing.what == what
            else thing
            for thing in things
        ]

    return spoil


def another_colour(colour: str) -> str:
    return {"red": "green", "blue": "yellow", "green": "red", "yellow": "blue"}.get(colour, "zerg")


def another_type(kind: int) -> int:
    return kind - 2 if kind >= 2 else kind + 2


def elsewhere(at: float) -> float:
    """A place nearer to the middle by a fifth of the map, or farther from it."""
    return at + (0.2 if at < 0.5 else -0.2)


def one_of_another_colour(things: Things) -> Things:
    """Of the first unit alone: if two change, they may be the same two again."""
    first = min((thing.number for thing in units(things)), default=-1)
    return [
        thing._replace(colour=another_colour(thing.colour)) if thing.number == first else thing
        for thing in things
    ]


def frozen(at: int) -> Callable[[Video], Video]:
    return lambda video: [*video[:at], *[video[at]] * (len(video) - at)]


def returned(video: Video) -> Video:
    """A shard that was collected, or a unit that died, lies there again at the end."""
    first, last = video[CONTEXT], video[-1]
    kept = {thing.number for thing in video[-4]}
    gone = [one for one in first if one.what in ("shard", "unit") and one.number not in kept]
    what = gone[:1] or [units(first)[0]._replace(number=99, x=0.5, y=0.05)]
    return [*video[:-2], [*video[-2], *what], [*last, *what]]


def swapped_army(things: Things) -> Things:
    """Half of an army goes over to the other side."""
    zerg = [thing for thing in units(things) if thing.colour == "zerg"]
    over = {thing.number for thing in zerg[::2]}
    return [t._replace(colour="terran") if t.number in over else t for t in things]


def empty(things: Things) -> Things:
    return [thing for thing in things if thing.what not in ("unit", "medivac")]


def without_an_army(things: Things) -> Things:
    return [thing for thing in things if thing.what != "unit" or thing.colour != "zerg"]


def farthest(things: Things, what: str, others: Things) -> Thing:
    """The thing that is farthest from the nearest of others."""
    places = np.array([[one.x, one.y] for one in others])
    some = [thing for thing in things if thing.what == what]
    return max(some, key=lambda one: np.hypot(*(places - [one.x, one.y]).T).min())


def lost_without_a_unit(things: Things) -> Things:
    """The shard that is farthest from all units is gone."""
    far = farthest(things, "shard", units(things))
    return [thing for thing in things if thing.number != far.number]


def lost_without_an_enemy(video: Video) -> Video:
    """The unit that is farthest from all enemies at the beginning is gone soon."""
    first = units(video[CONTEXT])
    zerg, terran = ([one for one in first if one.colour == c] for c in ("zerg", "terran"))
    far = farthest(zerg, "unit", terran)
    return change(CONTEXT + 1, lambda things: [t for t in things if t.number != far.number])(video)


def none_is_lost(video: Video) -> Video:
    """Units that died stand where they were last."""
    seen: dict[int, Thing] = {}
    spoilt = []
    for things in video:
        seen |= {thing.number: thing for thing in units(things)}
        spoilt.append([*seen.values(), *(thing for thing in things if thing.what != "unit")])
    return spoilt


def resized(things: Things, first: int, second: int, number: int = 0) -> Things:
    """A unit and the one after it are of other types."""
    kinds = dict(zip((number, number + 1), (first, second), strict=True))
    return [
        thing._replace(kind=kinds.get(thing.number, thing.kind)) if thing.what == "unit" else thing
        for thing in things
    ]


def doubled(things: Things) -> Things:
    """One unit is gone, and another one has twice its area (two types more are 1.8 times)."""
    first, *others = units(things)
    second = min((one for one in others if one.colour == first.colour), key=lambda one: one.kind)
    return [
        thing._replace(kind=second.kind + 2 if second.kind < 4 else 0) if thing is second else thing
        for thing in things
        if thing is not first
    ]


def one_larger_one_smaller(things: Things) -> Things:
    """The types of the most unlike units of an army are exchanged; together they are as large."""
    army = [thing for thing in units(things) if thing.colour == "zerg"]
    small, large = (pick(army, key=lambda one: one.kind) for pick in (min, max))
    kinds = {small.number: large.kind, large.number: small.kind}
    return [thing._replace(kind=kinds.get(thing.number, thing.kind)) for thing in things]


def far_from_the_medivac(video: Video) -> Video:
    """The unit that waits longest vanishes as soon as the trip begins, if it is out of reach."""
    longest = max(
        units(video[CONTEXT]) or units(video[0]),
        key=lambda one: sum(one in units(things) for things in video),
    )
    last = max(t for t, things in enumerate(video) if longest in units(things))
    (medivac,) = (thing for thing in video[CONTEXT] if thing.what == "medivac")
    if np.hypot(medivac.x - longest.x, medivac.y - longest.y) < 0.2:
        return video
    return [
        [one for one in things if one.number != longest.number] if t <= last else things
        for t, things in enumerate(video)
    ]


def never_collected(video: Video) -> Video:
    return [
        [*units(things), *(one for one in video[CONTEXT] if one.what == "shard")]
        for things in video
    ]


def moved(things: Things) -> Things:
    """Everything but beacons is a fifth of the map away."""
    return [
        thing if thing.what == "beacon" else thing._replace(x=elsewhere(thing.x))
        for thing in things
    ]


MUTB, CMS, BRAWL, RTWM = RULES
LATE = 20
"""A frame behind the visit of the first units of a road trip; they are delivered from 26 on."""
SPOILT: dict[str, dict[str, Callable[[Video], Video]]] = {
    MUTB: {
        "vanishes": change(8, without("unit")),
        "is there twice": change(8, with_new("unit", x=0.15, y=0.85)),
        "changes its colour": change(8, other(colour=another_colour)),
        "changes its type": change(8, other(kind=another_type)),
        "jumps": change(8, other(x=lambda x: 1 - x, y=lambda y: 1 - y)),
        "jumps in every other frame": every_other(moved),
        "stands still": frozen(8),
        "goes back": lambda video: [*video[:9], *video[8:1:-1]][: len(video)],
        "goes elsewhere": change(CONTEXT, other(x=lambda x: 1 - x, y=lambda y: 1 - y)),
    },
    CMS: {
        "a unit vanishes": change(8, without("unit")),
        "a third unit": change(8, with_new("unit", x=0.02, y=0.02)),
        "a unit vanishes, the other doubles": change(6, doubled),
        "both jump in every other frame": every_other(moved),
        "a larger and a smaller unit": change(CONTEXT, lambda things: resized(things, 0, 2)),
        "a shard returns": returned,
        "a shard vanishes alone": change(8, lost_without_a_unit),
        "a new shard": change(8, with_new("shard", x=0.01, y=0.99)),
        "stands still": frozen(CONTEXT),
        "none is collected": never_collected,
    },
    BRAWL: {
        "stands still": frozen(CONTEXT),
        "a unit returns": returned,
        "a new unit": change(8, with_new("unit", x=0.02, y=0.02)),
        "units change sides": change(8, swapped_army),
        "all are gone": change(8, empty),
        "an army is gone": change(8, without_an_army),
        "units change their types": change(8, other(kind=another_type)),
        "a unit vanishes, the next doubles": change(6, doubled),
        "a larger and a smaller unit": change(6, one_larger_one_smaller),
        "units jump in every other frame": every_other(moved),
        "a unit is lost without an enemy": lost_without_an_enemy,
        "none is lost": none_is_lost,
    },
    RTWM: {
        "stands still": frozen(CONTEXT),
        "one is not delivered": change(LATE, without("unit")),
        "others are delivered": change(LATE, one_of_another_colour),
        "other types": change(LATE, other(kind=another_type)),
        "one more": change(29, with_new("unit", x=0.05, y=0.05)),
        "no medivac": change(10, without("medivac")),
        "two medivacs": change(10, with_new("medivac", x=0.07, y=0.07)),
        "units jump in every other frame": every_other(moved),
        "the medivac jumps in every other frame": every_other(other("medivac", x=elsewhere)),
        "a unit vanishes alone": far_from_the_medivac,
        "delivered elsewhere": change(LATE, moved),
    },
}
"""Game -> what is wrong -> (true video) to spoilt one."""


def _in_each(make: Callable[[np.ndarray, int], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """The last context frame, changed anew in each predicted one."""

    def spoil(frames: np.ndarray) -> np.ndarray:
        last = frames[:, CONTEXT - 1]
        return np.stack([make(last, t) for t in range(frames.shape[1] - CONTEXT)], axis=1)

    return spoil


def shuffled(frames: np.ndarray, number: int) -> np.ndarray:
    """Pixels of each frame at random places."""
    flat = frames.reshape(*frames.shape[:2], -1)
    order = np.random.default_rng(number).permutation(flat.shape[-1])
    return flat[..., order].reshape(frames.shape)


def in_disorder(frames: np.ndarray) -> np.ndarray:
    order = np.random.default_rng(0).permutation(frames.shape[1] - CONTEXT)
    return frames[:, CONTEXT + order]


DISTURBED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "pixels of the last frame, shuffled anew": _in_each(shuffled),
    "the last frame, turned on by 90 degrees": _in_each(
        lambda last, t: np.rot90(last, t + 1, axes=(2, 3))
    ),
    "the last frame, mirrored": _in_each(lambda last, t: last[..., ::-1]),
    "the last frame, mirrored in turn": _in_each(
        lambda last, t: last[..., ::-1] if t % 2 else last
    ),
    "the last frame (persistence)": _in_each(lambda last, t: last),
    "the two context frames in turn": lambda frames: frames[:, np.arange(frames.shape[1] - 2) % 2],
    "the truth, mirrored left to right": lambda frames: frames[:, CONTEXT:, ..., ::-1],
    "the truth, upside down": lambda frames: frames[:, CONTEXT:, ..., ::-1, :],
    "the truth, turned by 90 degrees": lambda frames: np.rot90(frames[:, CONTEXT:], axes=(3, 4)),
    "the truth, backwards": lambda frames: frames[:, : CONTEXT - 1 : -1],
    "the truth, frames in random order": in_disorder,
    "frames of another video": lambda frames: np.roll(frames[:, CONTEXT:], 1, axis=0),
}
"""What is wrong in any game -> frames with context (N, T, 3, H, W) to predicted frames."""


def faults(name: str) -> list[str]:
    """All that is tried on a game."""
    return [*SPOILT[name], *DISTURBED]


def faulty(name: str, what: str, videos: list[Video], frames: np.ndarray) -> np.ndarray:
    """Videos with a fault, without the context; with it, the true ones are drawn in `frames`."""
    if what in DISTURBED:
        return DISTURBED[what](frames)
    return film([SPOILT[name][what](video) for video in videos], frames.shape[-1])


def rates(number: int, sizes: tuple[int, ...] = SIZES) -> None:
    """Print the shares of videos that keep all rules, of true and of faulty ones."""
    for name in RULES:
        for size in sizes:
            videos = games(name, number, seed=1, size=size)
            frames = drawn(videos, size)
            true = frames[:, CONTEXT:]
            for what in ("true", *faults(name)):
                shown = true if what == "true" else faulty(name, what, videos, frames)
                spoilt = (shown != true).any(axis=(1, 2, 3, 4)) | (what == "true")
                if spoilt.any():
                    kept = RULES[name].statistics(shown[spoilt], true[spoilt]).mean()
                    print(name, size, what, spoilt.sum(), f"{kept:.3f}", sep=" | ", flush=True)


def tolerance(number: int) -> None:
    """Print what blurred and noisy true videos of 64 pixels get: all rules, their share, PSNR."""
    for name, rules in RULES.items():
        true = film(games(name, number))
        share = convention(f"scv_partial_success.{OF_RULES[name]}")
        for blur, noise in LEVELS:
            frames = ndimage.gaussian_filter(true, (0, 0, 0, blur, blur))
            off = np.random.default_rng(0).normal(0, noise, true.shape) if noise else 0
            frames = np.clip(frames + off, 0, 1).astype(np.float32)
            psnr = -10 * np.log10(((frames - true) ** 2).mean(axis=(2, 3, 4))).mean()
            values = [of.statistics(frames, true).mean() for of in (rules, share)]
            print(name, blur, noise, *(f"{v:.2f}" for v in values), f"{psnr:.1f}", sep=" | ")


if __name__ == "__main__":
    rates(int(sys.argv[1]))
    tolerance(8)
