"""`class:` of a model: a network of another package, from its entry to forecasts in the store."""

import shutil
import sys
from pathlib import Path

import pytest
import xarray as xr
import yaml

from stp.core.errors import StpError
from stp.core.receipts import require_receipt
from stp.plan import checked_config, config
from stp.plan.cells import Plan
from stp.plan.checked_config import merge
from stp.run import runner

TINY = Path(__file__).parent / "workflow" / "tiny.yaml"
NETWORK = """
from pathlib import Path

from torch import nn

from nets_beside.layers import LAYER

FACTOR = float((Path(__file__).parent / "factor.txt").read_text())


class Network(nn.Module):
    def __init__(self, shape, side=3):
        super().__init__()
        self.layer = LAYER(shape[0], shape[0], side, padding=side // 2)

    def forward(self, frames):
        return frames[:, -1:] + FACTOR * self.layer(frames[:, -1])[:, None]
"""
ENTRY = """
title: Network
reference: a test
fit: sgd
class: nets_beside.network:{}
options: {{{}}}
train: {{batch_size: 4, lr: 0.001, epochs: 1}}
"""


@pytest.fixture
def package(tmp_path, monkeypatch) -> Path:
    """A package that is installed nowhere, and knows nothing of this one."""
    monkeypatch.setenv("STP_STORE_DIR", str(tmp_path / "store"))
    monkeypatch.setenv("STP_RAW_DIR", str(tmp_path / "raw"))
    folder = tmp_path / "elsewhere" / "nets_beside"
    folder.mkdir(parents=True)
    files = {"network.py": NETWORK, "layers.py": "from torch.nn import Conv2d as LAYER\n"}
    for name, text in {**files, "__init__.py": "", "factor.txt": "0.5"}.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(folder.parent)
    yield folder
    for name in [name for name in sys.modules if name.startswith("nets_beside")]:
        del sys.modules[name]


def plan(monkeypatch, root: Path, name: str = "Network", options: str = "side: 5") -> Plan:
    """The tiny plan of ENSO, with a model of this package."""
    entry = root / "lab" / "config" / "models" / "beside.yaml"
    entry.parent.mkdir(parents=True, exist_ok=True)
    entry.write_text(ENTRY.format(name, options))
    monkeypatch.setattr(checked_config, "extensions", lambda: (root / "lab",))
    short = {"short_term": {"models": ["beside"], "datasets": ["enso"]}}
    return Plan(config.load(merge(yaml.safe_load(TINY.read_text()), {"dimensions": short})))


def test_a_network_of_another_package_is_trained_and_forecasts(
    tmp_path, monkeypatch, package, tiny_enso
):
    shutil.copytree(tiny_enso, tmp_path, dirs_exist_ok=True)
    of = plan(monkeypatch, tmp_path)
    (cell,) = of.cells
    (training,) = cell.models
    runner.fetch(of, of.raw("enso"))
    for artefact in (cell.data, training, cell.predictions):
        folder = runner.make(of, artefact)
    receipt = require_receipt(of.store / training.folder)
    assert receipt.recipe["class"] == "nets_beside.network:Network"
    assert receipt.extras["parameters"] == 5 * 5 + 1 and receipt.recipe["reads"].keys() == {
        "nets_beside"
    }
    forecasts = xr.open_zarr(folder / "predictions.zarr", consolidated=False)
    assert forecasts["predictions"].notnull().all()


def test_an_edit_anywhere_in_the_package_is_another_model(tmp_path, monkeypatch, package):
    before = plan(monkeypatch, tmp_path).cells[0]
    (package / "factor.txt").write_text("0.25")
    after = plan(monkeypatch, tmp_path).cells[0]
    assert after.data.fingerprint == before.data.fingerprint
    assert after.models[0].fingerprint != before.models[0].fingerprint
    assert after.predictions.fingerprint != before.predictions.fingerprint


@pytest.mark.parametrize(
    ("name", "options", "what", "remedy"),
    [
        ("Netwrok", "", "config/models/beside.yaml: class", "Network"),
        ("Network", "sides: 5", "'sides'", "side"),
    ],
)
def test_a_class_or_option_that_does_not_exist_ends_the_plan(
    tmp_path, monkeypatch, package, name, options, what, remedy
):
    with pytest.raises(StpError) as caught:
        plan(monkeypatch, tmp_path, name, options)
    assert what in caught.value.what and remedy in caught.value.remedy
