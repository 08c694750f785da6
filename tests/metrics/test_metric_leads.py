"""Every convention says truly whether its lead times are independent of each other."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conventions import convention

from stp.metrics.comparison import Comparison, on_data
from stp.metrics.metric import Metric
from stp.plan.checked_config import entries, read_yaml
from stp.score.members import Members
from stp.score.motion import PeopleData

LEADS, MEMBERS, SAMPLES = 5, 4, 3
# LPIPS needs weights; distances of sets have no statistics of samples; means over windows are made
# of lead times before (tests/score/test_score_weeks.py).
CONVENTIONS = [
    name
    for file, path in entries("conventions").items()
    for choice in read_yaml(path)["conventions"]
    if file != "predicted_quality"
    if isinstance(metric := convention(name := f"{file}.{choice}"), Metric) and not metric.windows
]
OF_PEOPLE = ("displacement", "collision_rate", "miss_rate", "position_nlp")


def frames(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Predicted (N, M, T, C, H, W) and observed frames that the convention is made for."""
    rng = np.random.default_rng(0)
    shape = (2, 48, 50)
    if any(part in name for part in OF_PEOPLE):
        shape = (2, 1, 6)
    elif name.startswith("nino34"):
        shape = (1, 24, 48)
    elif name.startswith("ms_ssim") and "three" not in name:
        shape = (1, 176, 178)
    observed = rng.random((SAMPLES, LEADS, *shape), dtype=np.float32)
    noise = rng.normal(0, 0.3, (SAMPLES, MEMBERS, LEADS, *shape))
    return (observed[:, None] + noise).astype(np.float32), observed


def bound(name: str, tmp_path: Path, shape: tuple[int, int, int]) -> Metric:
    """The convention for data on the globe in [0, 1], without the climatology of a year."""
    variables = [f"v{c}" for c in range(shape[0])]
    attrs = {"units": "1", "variables": variables, "virtual": {"train": {"n_digits": 1}}}
    data = PeopleData(tmp_path, attrs, shape, np.arange(shape[0]))
    densities = {
        kind: np.random.default_rng(1).normal(size=(SAMPLES, shape[-1], LEADS))
        for kind in ("grid", "mixture")
    }
    steps = np.arange(SAMPLES * LEADS).reshape(SAMPLES, LEADS)
    metric = convention(name)
    assert isinstance(metric, Metric)
    return on_data(metric, Comparison(data, steps, MEMBERS, densities))


@pytest.fixture
def globe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Latitudes and a climatology without files."""
    from stp.metrics import acc, crpss, latitude, regions, rpss, spectral_coherence

    def coordinate(data: Any, name: str) -> np.ndarray | None:
        known = {"lat": np.linspace(-88, 88, data.shape[1]), "lon": np.arange(data.shape[2]) * 7.0}
        return known.get(name)

    for module in (latitude, regions):
        monkeypatch.setattr(module, "coordinate", coordinate)

    class Climatology:
        def __init__(self, data: Any, kind: str) -> None:
            self.shape = data.shape

        def missing_of(self, frames: np.ndarray) -> str:
            return ""

        def read(self, frame: int) -> np.ndarray:
            return np.random.default_rng(frame).random(self.shape, dtype=np.float32)

    for module in (acc, crpss, rpss, spectral_coherence):
        monkeypatch.setattr(module, "Climatology", Climatology)


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.usefixtures("globe")
def test_lead_times_are_as_independent_as_it_says(name: str, tmp_path: Any) -> None:
    predicted, observed = frames(name)
    metric = bound(name, tmp_path, observed.shape[2:])
    assert not metric.reason
    members = Members(MEMBERS, "mean_of_members")
    numbers, leads = np.arange(SAMPLES), np.arange(LEADS)

    def of(some: slice) -> np.ndarray:
        return members.statistics(
            name, metric, predicted[:, :, some], observed[:, some], numbers, leads[some]
        )

    whole = of(slice(None))
    blocks = [slice(0, 1), slice(1, 4), slice(4, 5)]
    if metric.independent_leads:
        apart = np.concatenate([of(some) for some in blocks], axis=-1)
        assert whole.shape[-1] == LEADS
        assert apart.tobytes() == whole.tobytes()
        return
    try:
        apart = np.concatenate([of(some) for some in blocks], axis=-1)
    except Exception:  # such as too few months
        return
    assert apart.shape != whole.shape or not np.array_equal(apart, whole)


def test_all_kinds_were_tried() -> None:
    assert len(CONVENTIONS) > 50
    dependent = {name for name in CONVENTIONS if not convention(name).independent_leads}
    assert dependent == {
        *(f"nino34.{choice}" for choice in ("correlation", "correlation_weighted", "rmse")),
        *(f"final_displacement.{choice}" for choice in ("by_scenario", "by_person")),
        "miss_rate.two_metres",
        "collision_rate.half_metre",
        "top_k_displacement.trajectory",
        "position_nlp.final_gaussian",
        *(
            f"scv_{how}success.{game}"
            for how in ("", "partial_")
            for game in ("brawl", "collect_shards", "move_unit", "road_trip")
        ),
    }
