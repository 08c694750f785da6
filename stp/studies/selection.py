"""Choose the models that raters compare (section 4.3 of the paper on FVD)."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from stp.studies.answer_key import Kind, ModelGroup, ScoredModel
from stp.studies.options import Gaps, Pairs

QUARTILE = 0.25
"""Share of the models that are better than the models of equal values."""
ENDS = (0.1, 0.9)
"""Quantiles between which models are spread."""
NOBODY = np.empty(0, np.int64)


def choose(study: Pairs, models: Mapping[str, ScoredModel]) -> list[ModelGroup]:
    """Choose groups of models whose videos raters compare.

    A group is called a scenario, as in the paper on FVD. These scenarios have nothing to do with
    those of people's paths.

    Args:
        study: configuration of the study.
        models: all models with their scores, by name.

    Returns:
        first the groups whose models have about equal values of a metric, then those with evenly
        spread values, then those with gaps between a base model and the others. A group for which
        there are too few models has a reason instead of models.
    """
    scenarios = []
    columns: list[tuple[Kind, str]] = [("equal", heading) for heading in study.equal]
    columns += [("spread", heading) for heading in study.spread]
    for kind, heading in columns:
        names, values = _metric_values(models, heading)
        chosen, reason = NOBODY, ""
        if len(names) < study.models:
            reason = (
                f"{len(names)} models have a value of {heading}, and {study.models} are compared"
            )
        elif kind == "equal":
            higher = study.metrics[heading].higher_is_better
            chosen = equal(values, study.models, higher_is_better=higher)
        else:
            chosen = spread(values, study.models)
        name = f"{'eq' if kind == 'equal' else 'spr'}. {heading}"
        scenarios.append(_scenario(kind, name, heading, names, values, chosen, reason))
    if study.gaps:
        scenarios += _gaps(study.gaps, study, models)
    return scenarios


def _gaps(gaps: Gaps, study: Pairs, models: Mapping[str, ScoredModel]) -> Iterable[ModelGroup]:
    names, values = _metric_values(models, gaps.metric)
    worse = -1 if study.metrics[gaps.metric].higher_is_better else 1
    for base in gaps.bases:
        rng = np.random.default_rng([study.seed, round(base * 1000)])
        first = draw_near(values, base, gaps.tolerance, 1, rng)
        for step in gaps.steps:
            target = base if not len(first) else values[first[0]]
            rest = values.copy()
            rest[first] = np.nan
            others = draw_near(rest, target + worse * step, gaps.tolerance, gaps.models, rng)
            reason = ""
            if not len(first):
                reason = f"no model of {gaps.metric} {base:g} ± {gaps.tolerance:g}"
            elif len(others) < gaps.models:
                reason = f"{len(others)} of {gaps.models} models at this step"
            chosen = np.append(first, others) if len(first) and len(others) else NOBODY
            name = f"base{base:g} +{step:g}"
            scenario = _scenario("gap", name, gaps.metric, names, values, chosen, reason)
            yield scenario.model_copy(update={"base": base, "step": step})


def _scenario(
    kind: Kind,
    name: str,
    metric: str,
    names: Sequence[str],
    values: np.ndarray,
    chosen: np.ndarray,
    reason: str,
) -> ModelGroup:
    chosen_values = values[chosen]
    return ModelGroup(
        name=name,
        kind=kind,
        metric=metric,
        models=[names[number] for number in chosen],
        reason=reason,
        low=float(chosen_values.min()) if len(chosen_values) else None,
        high=float(chosen_values.max()) if len(chosen_values) else None,
    )


def _metric_values(models: Mapping[str, ScoredModel], metric: str) -> tuple[list[str], np.ndarray]:
    values = {
        name: value
        for name, model in models.items()
        if (value := model.values.get(metric)) is not None
    }
    return list(values), np.array(list(values.values()), np.float64)


def equal(values: np.ndarray, count: int, *, higher_is_better: bool) -> np.ndarray:
    """Choose models of about equal values near the best quartile.

    The choice is ``count`` neighbours in the order of values, around the quartile.

    Args:
        values: values of the metric, finite, (N,).
        count: number of models to choose, at most N.
        higher_is_better: the direction of the metric.

    Returns:
        indices of models, the best first, (count,).
    """
    order = np.argsort(-values if higher_is_better else values, kind="stable")
    middle = QUARTILE * (len(values) - 1)
    first = int(np.clip(np.rint(middle - (count - 1) / 2), 0, len(values) - count))
    return np.asarray(order[first : first + count])


def spread(values: np.ndarray, count: int) -> np.ndarray:
    """Choose models whose values are equidistant between the 10th and the 90th percentile.

    The choice minimises the sum of the distances between values of models and equidistant values.

    Args:
        values: values of the metric, finite, (N,).
        count: number of models to choose, at most N.

    Returns:
        indices of models, in the ascending order of the equidistant values, (count,).
    """
    low, high = (float(np.quantile(values, end)) for end in ENDS)
    targets = np.linspace(low, high, count)
    _, chosen = linear_sum_assignment(np.abs(targets[:, None] - values[None, :]))
    return np.asarray(chosen)


def draw_near(
    values: np.ndarray, target: float, tolerance: float, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw models at random from those with a value near a target.

    Args:
        values: values of the metric, (N,); models with NaN are not drawn.
        target: value that the models should have.
        tolerance: maximum distance of a value from the target.
        count: number of models to draw.
        rng: random number generator of the draw.

    Returns:
        indices of models, ascending; fewer than ``count`` if too few values are near.
    """
    candidates = np.flatnonzero(np.abs(values - target) <= tolerance)
    return np.sort(rng.permutation(candidates)[:count])
