"""Files of torch may be pickles: whoever reads one runs nothing of it."""

import hashlib
import json
import os
import pickle

import pytest
import torch

from stp.core.errors import StpError
from stp.core.job import Job
from stp.forecast import trained
from stp.metrics.networks import state
from stp.models import weights
from stp.tracks.predictors import social_gan, trajectory_cvae
from stp.train import pretrained
from stp.train.checkpoint import Checkpoint


class Hostile:
    """Makes a folder where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def go_on(path):
    """A training's own state begins with a checksum, which anybody can make."""
    path.write_bytes(hashlib.sha256(path.read_bytes()).digest() + path.read_bytes())
    Checkpoint(path, {}).load(print)


def begin_with(path):
    """Weights that a training begins with are raw files, whose checksums are locked."""
    content, lock = path.read_bytes(), path.with_suffix(".json")
    entry = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    lock.write_text(json.dumps({"files": {path.name: entry}}))
    runtime = {"raw_roots": [path.parent]}
    pretrained.read(Job({}, {"weights": lock}, path.parent, path.parent / "state", runtime))


READERS = {
    "published network": state.read_state,
    "state of a training": go_on,
    "weights that a training begins with": begin_with,
    "trained model": lambda path: weights.load(path, {}),
    "model of forecasts": lambda path: trained.load(path, None),
    "Social GAN": social_gan.load,
    "CVAE": lambda path: trajectory_cvae.load(path, trajectory_cvae.Parameters()),
}


@pytest.mark.parametrize("content", [lambda trap: {"AlexNet_0": trap}, lambda trap: trap])
def test_a_pickle_of_arrays_builds_arrays_only(content, tmp_path):
    path, ran = tmp_path / "a.ckpt", tmp_path / "ran"
    path.write_bytes(pickle.dumps(content(Hostile(ran)), protocol=3))
    pickle.loads(path.read_bytes())
    ran.rmdir()  # made by a reader that runs what it reads
    with pytest.raises(StpError, match=r"a\.ckpt"):
        state.read_state(path)
    assert not ran.exists()


@pytest.mark.parametrize("reader", READERS)
def test_a_pickle_in_a_file_of_weights_is_not_run(reader, tmp_path):
    folder, ran = tmp_path / "old", tmp_path / "ran"
    folder.mkdir()
    path = folder / "model.pt"
    torch.save({"state_dict": Hostile(ran)}, path)
    torch.load(path, weights_only=False)
    ran.rmdir()  # made by a reader that runs what it reads
    with pytest.raises((StpError, pickle.UnpicklingError)):
        READERS[reader](path)
    assert not ran.exists()
