"""What networks see of videos: computed once, shared by measures, learnt from in all splits."""

from pathlib import Path

import numpy as np
import pytest
import torch

from stp.core.errors import StpError
from stp.core.job import Job
from stp.features.videos import look
from stp.metrics.lpips import Lpips
from stp.metrics.networks.trunks import Trunk
from stp.opinions import quality, seen
from stp.opinions.frame_features import motion_compensated_similarity
from stp.opinions.prepared import Video, open_database
from stp.plan.cells import Plan
from stp.plan.strict import CONFIG_FOLDER
from stp.predict import opinions as predict

CHANNELS = 512


def maps(frames: np.ndarray) -> np.ndarray:
    """Maps (T, 4, 4, 512) that need no network: patches, repeated."""
    parts = frames.reshape(len(frames), 4, 16, 4, 16, 3).mean(axis=(2, 4)) / 255
    return np.tile(parts, (1, 1, 1, CHANNELS // 3 + 1))[..., :CHANNELS].astype(np.float32)


@pytest.fixture(scope="module")
def network() -> Lpips:
    torch.manual_seed(0)
    return Lpips("squeezenet", Trunk("squeezenet").state_dict()).eval()


def test_parts_of_a_video(network: Lpips):
    video = np.random.default_rng(0).integers(0, 256, (20, 64, 64, 3), dtype=np.uint8)
    with torch.inference_mode():
        found = look(Video(video, video), maps, network, context=4)
    assert set(found) == set(seen.PARTS)
    assert found["ssa"].shape == found["mcs"].shape == found["rfd"].shape == (20, CHANNELS)
    assert found["mcs_written"].shape == (16, CHANNELS)
    assert found["rfd_written"].shape == (19, CHANNELS)
    expected = motion_compensated_similarity(maps(video), 4, "written")
    np.testing.assert_allclose(found["mcs_written"], expected)
    # a prediction that is the truth
    assert found["mse"] == 0 and found["lpips"] == pytest.approx(0, abs=1e-9)
    assert found["cosine"] == pytest.approx(1)
    with torch.inference_mode():
        alone = look(Video(video, None), maps, network, context=4)
    assert all(np.isnan(alone[name]).all() for name in ("mse", "cosine", "lpips"))


def test_opinions_that_follow_from_features_are_learnt(data: Path, tmp_path: Path):
    database = open_database(data, 4)
    rng = np.random.default_rng(0)
    features = rng.normal(size=(60, 300)).astype(np.float32)
    features[:, :3] += 5 * (database.mos[:, None] - 50) / 15
    folder = tmp_path / "seen"
    folder.mkdir()
    seen.write(folder, database.names, {"mcs": features, "rfd": features[:, 3:]})

    def run(parts: list[str], name: str, inputs: dict[str, Path]) -> tuple[float, str]:
        out = tmp_path / name
        out.mkdir()
        given = {"regression": "linear", "parts": parts}
        recipe = {"model": "any", "source": "network_features", "predict": given}
        job = Job({**recipe, "context": 4, "split": "random"}, inputs, out, out)
        predict.run(job)
        table, reason = quality.read(out)
        rows = table.to_pandas()
        return float(rows["predicted"].corr(rows["observed"])) if len(rows) else np.nan, reason

    both = {"data": data, "features": folder}
    assert run(["mcs"], "informed", both)[0] > 0.95
    assert abs(run(["rfd"], "noise", both)[0]) < 0.5
    assert run(["mcs"], "absent", {"data": data})[1].startswith("the weights of the network")
    with pytest.raises(StpError, match="some of ssa, mcs"):
        run(["mcs", "nothing"], "unknown", both)


def test_a_network_looks_once_for_all_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "squeezenet1_1_features.pth").write_bytes(b"")  # planned, not read
    monkeypatch.setenv("STP_WEIGHTS_DIR", str(tmp_path))
    plan = Plan.load(CONFIG_FOLDER / "pvqa-demo.yaml")
    looked: dict[str, set[str]] = {}
    for made in plan.cells:
        network = plan.config.models[made.cell.model].network
        assert made.predictions is not None
        inputs = made.predictions.inputs
        if network == "squeezenet":
            looked.setdefault(inputs["features"].label, set()).add(made.cell.model)
        else:
            assert set(inputs) == {"data"}, made.cell.model
    assert set(looked) == {"squeezenet of pvqa"} and len(looked["squeezenet of pvqa"]) == 8
