"""Features of videos through the published weights of SqueezeNet and AlexNet."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from opinion_files import some
from parts import long_except
from scipy.stats import spearmanr

from stp.core.job import Job
from stp.features import videos
from stp.metrics.networks.state import read_verified
from stp.metrics.networks.trunks import DEVIATION, MEAN, TAPS, read_trunk
from stp.opinions import network_features
from stp.opinions.prepared import open_database

MANY, CONTEXT, FRAMES = 12, 4, 20


@pytest.mark.real_weights
@pytest.mark.parametrize(
    "network", long_except(["squeezenet"], ["squeezenet", "alexnet"], part="suites")
)
def test_what_networks_see_of_damaged_videos(
    network: str,
    data: Path,
    real_weights: Callable[[str], tuple[Path, dict[str, Any]]],
    tmp_path: Path,
) -> None:
    """Nothing is far from itself, and the more is damaged the farther; maps are those of the
    network's own layers."""
    path, declared = real_weights(network)
    natural = np.array(open_database(data, CONTEXT).table["strength"].to_pylist()) == 0
    chosen = np.concatenate([np.flatnonzero(natural)[:3], np.flatnonzero(~natural)])[:MANY]
    few = some(data, tmp_path / "few", chosen.tolist())
    out = tmp_path / "seen"
    out.mkdir()
    recipe = {"network": network, "weights": {"sha256": declared["sha256"]}, "context": CONTEXT}
    runtime = {"weights": {network: str(path)}, "device": "cpu"}
    told: Any = videos.run(Job(recipe, {"data": few}, out, out, runtime))
    channels = TAPS[network].channels[-1]
    assert told["videos"] == MANY and told["maps"] == channels

    database = open_database(few, CONTEXT)
    actual = network_features.read(out, database.names, list(network_features.PARTS)).parts
    strength = np.array(database.table["strength"].to_pylist())
    natural = strength == 0
    assert natural.any()
    np.testing.assert_allclose(actual["lpips"][natural], 0, atol=1e-6)
    np.testing.assert_allclose(actual["cosine"][natural], 1, atol=1e-5)
    assert (actual["lpips"][~natural] > 1e-4).all() and (actual["mse"][~natural] > 0).all()
    assert spearmanr(actual["lpips"][:, 0], strength).statistic > 0.4
    similar = actual["mcs"].reshape(MANY, FRAMES, channels)
    itself = similar[:, CONTEXT - 1]
    # A channel that nothing excites has no direction.
    assert (np.isclose(itself, 1, atol=1e-3) | (itself < 1e-3)).mean() > 0.99
    assert similar[:, -1].mean() < itself.mean()

    trunk = read_trunk(network, read_verified(path, declared)[0])
    frames = torch.from_numpy(next(database.videos()).predicted).permute(0, 3, 1, 2).float() / 255
    mean, deviation = (torch.tensor(v)[:, None, None] for v in (MEAN, DEVIATION))
    with torch.inference_mode():
        maps = trunk((frames - mean) / deviation)[-1].mean(dim=(2, 3)).numpy()
    np.testing.assert_allclose(actual["ssa"][0], maps.reshape(-1), rtol=1e-3, atol=1e-4)
