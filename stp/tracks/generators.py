"""Generate synthetic scenarios that show the behaviour of predictors.

Chasing, crossing and opposing are situations of Atlas (section V-A); meeting groups, and people who
walk around an obstacle, are shown in its Figures 2 and 3. People follow prescribed smooth paths,
not a model of walking.
"""

from dataclasses import dataclass

import numpy as np

from stp.tracks.obstacles import Obstacles, discs
from stp.tracks.tracks import Tracks

DT, STEP = 0.1, 1  # as the released scenarios: 10 Hz


@dataclass(frozen=True)
class Walk:
    """A person's straight path with a sidestep.

    Attributes:
        begin: start position, metres.
        velocity: velocity, metres per second.
        aside: largest sidestep to the left, metres.
        when: time of the largest sidestep, seconds.
        lasting: duration of the sidestep (standard deviation), seconds.
        stays: whether the person stays aside after the sidestep.
    """

    begin: tuple[float, float]
    velocity: tuple[float, float]
    aside: float = 0.0
    when: float = 0.0
    lasting: float = 1.0
    stays: bool = False

    def path(self, seconds: np.ndarray) -> np.ndarray:
        """Positions at the given times, in metres, with a row for each time.

        Args:
            seconds: times since the start, seconds.
        """
        velocity = np.array(self.velocity)
        speed = np.linalg.norm(velocity)
        left = np.array([-velocity[1], velocity[0]]) / (speed if speed > 0 else 1)
        passed = (seconds - self.when) / self.lasting
        share = 1 / (1 + np.exp(-1.7 * passed)) if self.stays else np.exp(-0.5 * passed**2)
        straight = np.array(self.begin) + seconds[:, None] * velocity
        return np.asarray(straight + self.aside * share[:, None] * left)


def tracks(walks: list[Walk], seconds: float, noise: float = 0.0, seed: int = 0) -> Tracks:
    """Make detections of people who are present all the time.

    Args:
        walks: paths of the people, who are numbered from 1.
        seconds: duration of the recording, seconds.
        noise: standard deviation of noise added to positions, metres.
        seed: seed of the noise.
    """
    count = round(seconds / DT) + 1
    times = np.arange(count) * DT
    paths = np.stack([walk.path(times) for walk in walks], axis=1)
    paths = paths + np.random.default_rng(seed).normal(0, noise, paths.shape)
    person = np.tile(np.arange(1, len(walks) + 1), count)
    frame = np.repeat(np.arange(count, dtype=np.float64), len(walks))
    return Tracks(frame, person, paths.reshape(-1, 2), STEP, DT)


def chasing(fast: float = 1.3, slow: float = 1.0, ahead: float = 3.1, aside: float = 1.0) -> Tracks:
    """Generate tracks in which a faster person overtakes another on the left.

    Args:
        fast, slow: speeds of the two people, metres per second.
        ahead: initial distance, metres.
        aside: final distance between the paths, metres.
    """
    meet = ahead / max(fast - slow, 1e-9)
    walks = [
        Walk((0, 0), (fast, 0), aside=aside, when=0.7 * meet, lasting=1.0, stays=True),
        Walk((ahead, 0), (slow, 0)),
    ]
    return tracks(walks, seconds=9.0)


def crossing(speed: float = 1.0, angle: float = 60.0, late: float = 0.3) -> Tracks:
    """Generate tracks of two people whose paths cross; one lets the other pass.

    Args:
        speed: speed, metres per second.
        angle: angle between the paths, degrees.
        late: delay of the second person at the crossing, seconds.
    """
    half, middle = np.deg2rad(angle) / 2, 4.5
    walks = []
    for side, delay in ((1, 0.0), (-1, late)):
        velocity = speed * np.array([np.cos(half), side * np.sin(half)])
        begin = -(middle + delay) * velocity
        walks.append(Walk(tuple(begin), tuple(velocity), aside=-0.2 * side, when=middle))
    return tracks(walks, seconds=9.0)


def opposing(
    speed: float = 1.0, apart: float = 16.0, offset: float = 0.2, aside: float = 0.3
) -> Tracks:
    """Generate tracks of two people who walk towards each other, and give way to the right.

    Args:
        speed: speed, metres per second.
        apart: initial distance, metres.
        offset: initial distance between the parallel paths, metres.
        aside: sidestep of each person, metres.
    """
    meet = apart / (2 * speed)
    walks = [
        Walk((0, 0), (speed, 0), aside=-aside, when=meet),
        Walk((apart, -offset), (-speed, 0), aside=-aside, when=meet),
    ]
    return tracks(walks, seconds=10.0)


def groups_meeting(
    size: int = 3, speed: float = 1.2, apart: float = 14.0, shoulder: float = 0.8
) -> Tracks:
    """Generate tracks of two groups that walk abreast towards and through each other.

    Args:
        size: number of people of each group.
        speed: speed, metres per second.
        apart: initial distance between the groups, metres.
        shoulder: distance between neighbours in a group, metres.
    """
    meet = apart / (2 * speed)
    places = (np.arange(size) - (size - 1) / 2) * shoulder
    walks = [Walk((0, y), (speed, 0), aside=-shoulder / 4, when=meet) for y in places]
    walks += [Walk((apart, y), (-speed, 0), aside=-shoulder / 4, when=meet) for y in places]
    return tracks(walks, seconds=2 * meet)


def around_an_obstacle(
    people: int = 1, speed: float = 1.0, radius: float = 2.0
) -> tuple[Tracks, Obstacles]:
    """Generate tracks of people who walk one behind the other around a disc in their way.

    Args:
        people: number of people.
        speed: speed, metres per second.
        radius: radius of the disc, metres; its centre is (8, 5).

    Returns:
        the detections, and the disc.
    """
    centre, behind = (8.0, 5.0), 1.5
    walks = [
        Walk(
            (-behind * number, centre[1] - 0.3), (speed, 0), aside=-(radius + 0.4),
            when=(centre[0] + behind * number) / speed, lasting=1.2 * radius / speed,
        )
        for number in range(people)
    ]  # fmt: skip
    lasting = (2 * centre[0] + behind * people) / speed
    return tracks(walks, seconds=lasting), discs(np.array([centre]), np.array([radius]))
