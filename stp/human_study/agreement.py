"""Do raters choose the model that a metric finds best, clip by clip?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from stp.core.errors import StpError
from stp.human_study.answers import Answers
from stp.human_study.key import Key, Source
from stp.human_study.shares import Share, share
from stp.plan.manifest import Manifest
from stp.score.tables import read_samples

PER_CLIP = {
    "LPIPS": "lpips.alex",
    "SSIM": "ssim.range2",
    "PSNR": "psnr.per_frame",
    "MSE": "mse.pixel_mean",
    "Predicted quality": "predicted_quality.squeezenet",
}
"""Conventions whose value for a clip is the mean of what its frames have, or the only one."""

SETS_ONLY = "FVD compares sets of clips and has no value for one clip"


class Agreement(NamedTuple):
    """How often raters and a metric agree.

    Attributes:
        metric: as the paper's column is headed.
        convention: that was computed.
        dataset: name, or empty for all together.
        questions: how many have the metric for all models.
        raters: who answered them.
        agreed: the share of answers that name the metric's best model. Answers of raters who could
            not tell do not count; where k models are best, choosing one of them counts 1/k.
        chance: the share of somebody who chooses blindly; None without questions.
        reason: why there is nothing, or less than all questions; empty otherwise.
    """

    metric: str
    convention: str
    dataset: str
    questions: int
    raters: int
    agreed: Share
    chance: float | None
    reason: str


def agreements(key: Key, read: Answers, manifest: Manifest | None) -> list[Agreement]:
    """Compare answers with each metric, for all datasets together and for each.

    Args:
        key: of the study.
        read: the answers.
        manifest: of short_term, which names the scores of the predictions that raters saw.

    Raises:
        StpError: scores are damaged.
    """
    found = []
    for metric, convention in PER_CLIP.items():
        values, reasons = _values(key, manifest, convention)
        for dataset in ["", *key.datasets]:
            found.append(_agreement(key, read, (metric, convention), dataset, values, reasons))
    nothing = share(np.empty(0), np.empty(0), np.empty(0), np.empty(0))
    found.append(Agreement("FVD", "", "", 0, 0, nothing, None, SETS_ONLY))
    return found


def _agreement(
    key: Key,
    read: Answers,
    metric: tuple[str, str],
    dataset: str,
    values: Mapping[int, dict[str, float]],
    reasons: Mapping[str, str],
) -> Agreement:
    asked = {n for n in values if not dataset or key.questions[n].dataset == dataset}
    used = [a for a in read.answers if a.question in asked and a.model is not None]
    best = {number: _best(values[number]) for number in asked}
    names = list(read.raters)
    hits = np.array([(a.model in best[a.question]) / len(best[a.question]) for a in used])
    counted = share(
        hits,
        np.array([names.index(a.rater) for a in used]),
        np.array([a.question for a in used]),
        np.array([key.questions[a.question].dataset for a in used]),
    )
    why = [reasons[name] for name in key.datasets if name in reasons and dataset in ("", name)]
    return Agreement(
        *metric,
        dataset,
        len({a.question for a in used}),
        len({a.rater for a in used}),
        counted,
        1 / len(key.models) if used else None,
        "; ".join(dict.fromkeys(why)),
    )


def _best(values: Mapping[str, float]) -> set[str]:
    most = max(values.values())
    return {model for model, value in values.items() if value == most}


def _values(
    key: Key, manifest: Manifest | None, convention: str
) -> tuple[dict[int, dict[str, float]], dict[str, str]]:
    """Values by question and model, larger is better; by dataset, why there are none."""
    found: dict[int, dict[str, float]] = {}
    reasons: dict[str, str] = {}
    for dataset, title in key.datasets.items():
        of_models = {}
        for source in (source for source in key.sources if source.dataset == dataset):
            samples, reason = _samples(source, manifest, convention)
            if samples is None:
                reasons.setdefault(dataset, f"{title}: {reason}")
            else:
                of_models[source.model] = samples
        if dataset in reasons:
            continue
        for number, asked in enumerate(key.questions):
            if asked.dataset == dataset:
                found[number] = {m: _of_clip(s, asked.clip) for m, s in of_models.items()}
        if any(np.isnan(list(found[n].values())).any() for n in found):
            found = {n: v for n, v in found.items() if not np.isnan(list(v.values())).any()}
            reasons[dataset] = f"{title}: some clips have no {convention}"
    return found, reasons


def _of_clip(samples: Mapping[str, float], clip: str) -> float:
    return samples.get(clip, np.nan)


def _samples(
    source: Source, manifest: Manifest | None, convention: str
) -> tuple[dict[str, float] | None, str]:
    """Value of each clip, larger is better; or why there are none."""
    if manifest is None:
        return None, "no manifest was named"
    cell = next((c for c in manifest.cells if c.predictions == source.predictions), None)
    if cell is None:
        return None, "these predictions are no longer part of the plan"
    about = manifest.conventions.get(convention)
    if about is None or about.higher_is_better is None:
        return None, f"{convention} is not computed at this scale"
    for folder in cell.folders(("scores", "perceptual")):
        found = _read(folder, convention)
        if found is not None:
            sign = 1.0 if about.higher_is_better else -1.0
            return {c: sign * float(np.mean(v)) for c, v in zip(*found, strict=True)}, ""
    reason = manifest.unavailable.get(convention)
    return None, reason or f"no scores of single clips in {convention}"


def _read(folder: Path, convention: str) -> tuple[list[str], list[Any]] | None:
    """The clips and their values, NaN of those that are far from all rated videos; or None."""
    try:
        if found := read_samples(folder, convention):
            return found
        rated = read_samples(folder, f"{convention}.rated")
        quality = read_samples(folder, f"{convention}.quality")
        if rated is None or quality is None:
            return None
        pairs = zip(quality[1], rated[1], strict=True)
        return quality[0], [q[-1] if q and r and r[-1] == 1 else np.nan for q, r in pairs]
    except FileNotFoundError:
        return None
    except (OSError, pa.ArrowException, KeyError) as error:
        raise StpError(
            f"{folder / 'sample_scores.parquet'}: {error}",
            expected="scores of single clips",
            remedy="delete this folder and score the cell again",
        ) from error
