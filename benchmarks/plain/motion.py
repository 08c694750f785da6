"""The force models of Atlas once more, person by person: slow, and easy to check."""

import math

import numpy as np

from stp.tracks import forces
from stp.tracks.obstacles import Obstacles
from stp.tracks.predictors import karamouzas, social_force, zanlungo
from stp.tracks.scenarios import Scenarios
from stp.tracks.velocity import weights


def nearest(position: np.ndarray, obstacles: Obstacles) -> tuple[np.ndarray, float]:
    """Look at every obstacle."""
    best = int(np.argmin(np.sqrt(((obstacles.position - position) ** 2).sum(axis=1))))
    return obstacles.position[best], float(obstacles.radius[best])


def wanted_velocity(observed: np.ndarray, dt: float) -> np.ndarray:
    velocities = [(after - before) / dt for before, after in zip(observed, observed[1:])]  # noqa: B905, RUF007
    shares = weights(len(velocities))
    return sum((share * v for share, v in zip(shares, velocities, strict=True)), np.zeros(2))


def walk(scenarios, steps, parameters, obstacles, felt):
    """Predict with a function that gives the force on person i."""
    paths = np.full((*scenarios.person.shape, steps, 2), np.nan)
    for scenario in range(len(scenarios)):
        here = np.flatnonzero(scenarios.person[scenario] >= 0)
        places = [scenarios.observed[scenario, i, -1] for i in here]
        wanted = [wanted_velocity(scenarios.observed[scenario, i], scenarios.dt) for i in here]
        speeds = list(wanted)
        for step in range(steps):
            new_places, new_speeds = [], []
            for i in range(len(here)):
                force = 80 / 0.5 * (wanted[i] - speeds[i])
                force = force + felt(i, places, speeds, wanted, scenarios.dt, parameters, obstacles)
                speed = speeds[i] + force / 80 * scenarios.dt
                most = 1.3 * math.hypot(*wanted[i])
                if math.hypot(*speed) > most:
                    speed = speed * most / math.hypot(*speed)
                new_speeds.append(speed)
                new_places.append(places[i] + speed * scenarios.dt)
            places, speeds = new_places, new_speeds
            paths[scenario, here, step] = places
    return paths


def social(i, places, speeds, wanted, dt, p: social_force.Parameters, obstacles):
    ahead = speeds[i] / (math.hypot(*speeds[i]) + 1e-6)
    total = np.zeros(2)
    for j in range(len(places)):
        if j != i:
            away = places[i] - places[j]
            d = math.hypot(*away)
            away = away / (d + 1e-8)
            weight = 0.7 + 0.3 * (1 + ahead @ away) / 2
            total = total + weight * p.strength * math.exp(-abs(0.5 - d) / p.range) * away
            total = total + p.contact * max(0.0, 0.5 - d) * away
    if obstacles is not None:
        centre, radius = nearest(places[i], obstacles)
        gap, factor = (0.25 + radius, 1.5) if obstacles.kind == "discs" else (0.5, 1.0)
        d = math.dist(places[i], centre)
        away = (places[i] - centre) / d
        weight = 0.7 + 0.3 * (1 + ahead @ away) / 2
        decay = math.exp(-abs(gap - d) / p.range_obstacle)
        total = total + factor * weight * p.strength_obstacle * decay * away
        total = total + p.contact_obstacle * max(0.0, gap - d) * away
    return total


def when(towards, apart, radius, horizon, inside):
    a, b, c = towards @ towards, -2 * apart @ towards, apart @ apart - radius**2
    if a == 0 or b * b - 4 * a * c < 0:
        return math.inf
    first, second = sorted(np.roots([a, b, c]).real)
    if 0 < first < horizon:
        return first
    return inside if first < 0 < second else math.inf


def size_of_evasion(p: karamouzas.Parameters, left):
    flat = p.near + p.near_to_flat
    end = flat + p.flat_to_end
    if left < p.near:
        return p.strength / left
    if left < flat:
        return p.strength / p.near
    return p.strength / p.near * (end - left) / (end - flat) if left < end else 0.0


def evading(i, places, speeds, wanted, dt, p: karamouzas.Parameters, obstacles):
    desired = speeds[i] + (wanted[i] - speeds[i]) / 0.5 * dt
    horizon = forces.HORIZON_STEPS * dt
    met = []
    for j in range(len(places)):
        if j != i:
            seconds = when(desired - speeds[j], places[j] - places[i], 0.95, horizon, 0.0)
            if seconds < math.inf:
                met.append((seconds, j))
    met = sorted(met)[: p.people]
    total = np.zeros(2)
    for (seconds, j), share in zip(met, weights(len(met))[::-1], strict=True):
        mine = places[i] + seconds * desired
        away = mine - (places[j] + seconds * speeds[j])
        left = abs(math.dist(mine, places[i]) + math.hypot(*away) - 0.5)
        total = total + share * size_of_evasion(p, left) * away / (math.hypot(*away) + 1e-6)
    if obstacles is not None:
        centre, radius = nearest(places[i], obstacles)
        size = radius - 0.4 if obstacles.kind == "discs" else 0.25
        seconds = when(desired, centre - places[i], 0.7 + size, horizon, 0.1)
        if seconds < math.inf:
            mine = places[i] + seconds * desired
            away = mine - centre
            left = abs(math.dist(mine, places[i]) + math.hypot(*away) - 0.25)
            size = p.obstacle_factor * size_of_evasion(p, left)
            total = total + size * away / (math.hypot(*away) + 1e-6)
    return total


def foreseen(i, places, speeds, wanted, dt, p: zanlungo.Parameters, obstacles):
    horizon = forces.HORIZON_STEPS * dt

    def seconds_to(towards, apart, gap, cone):
        d, v = math.hypot(*apart), math.hypot(*towards)
        cosine = towards @ apart / (v * d + 1e-9)
        if cosine < math.cos(cone):
            return math.inf
        return 0.2 if d < gap else min(max(cosine * (d - gap) / v, 0.2), horizon)

    def force(apart, seconds, gap, strength, reach, contact, tiny=1e-6):
        d = math.hypot(*apart)
        away, speed = apart / d, math.hypot(*speeds[i])
        weight = 0.7 + 0.3 * (1 + speeds[i] / (speed + tiny) @ away) / 2
        social = weight * strength * speed / seconds * math.exp(-abs(gap - d) / reach)
        return (social + contact * max(0.0, gap - d)) * away

    rest = [j for j in range(len(places)) if j != i]
    soonest = min(
        (seconds_to(speeds[i] - speeds[j], places[j] - places[i], 0.5, math.pi / 4) for j in rest),
        default=math.inf,
    )
    total = np.zeros(2)
    if soonest < math.inf:
        for j in rest:
            apart = places[i] - places[j] + (speeds[i] - speeds[j]) * soonest
            total = total + force(apart, soonest, 0.5, p.strength, p.range, p.contact)
    if obstacles is not None:
        centre, radius = nearest(places[i], obstacles)
        gap, factor = (0.25 + radius, 2.0) if obstacles.kind == "discs" else (0.5, 1.0)
        seconds = seconds_to(speeds[i], centre - places[i], gap, math.pi / 3)
        if seconds < math.inf:
            apart = places[i] + speeds[i] * seconds - centre
            strength = factor * p.strength_obstacle
            total = total + force(
                apart, seconds, gap, strength, p.range_obstacle, p.contact_obstacle, tiny=1e-9
            )
    return total


def predict(module, scenarios: Scenarios, steps: int, parameters, obstacles=None) -> np.ndarray:
    """What the module of a predictor predicts, person by person."""
    felt = {social_force: social, karamouzas: evading, zanlungo: foreseen}[module]
    return walk(scenarios, steps, parameters, obstacles, felt)
