"""Training tricks: the constants that the published protocol ends up with, and interruptions.

What each trick does with its constants is tested in the file of its model; here, what
config/paper.yaml resolves to.
"""

import random
from contextlib import suppress
from typing import Any

import pytest
import torch
from model_cases import SHALLOW, job, recipe, write_squares
from test_model_sizes import RELEASED

from stp.core.job import Interrupted
from stp.core.options import as_json
from stp.models.create import create
from stp.models.mcvd import Sampler, signal_shares
from stp.models.phydnet import Model as PhyDNet
from stp.models.reverse_scheduled_sampling import ReverseScheduledSampling
from stp.models.scheduled_sampling import ScheduledSampling
from stp.options.train import TrainOptions
from stp.plan.checked_config import CONFIG_FOLDER
from stp.plan.config import load
from stp.plan.recipes import Recipes
from stp.train.run import run

SMALL = (1, 8, 8)
CONSTANTS = ("convlstm", "e3dlstm", "mau", "predrnn", "predrnnpp", "predrnnv2", "tau", "phydnet")


@pytest.fixture(scope="module")
def paper() -> Recipes:
    return Recipes(load(CONFIG_FOLDER / "paper.yaml"))


def published(paper: Recipes, name: str, dataset: str) -> Any:
    """The model as it is trained for the paper's tables, without its weights."""
    with torch.device("meta"):
        return create(as_json(paper.train(name, dataset, 0)))


@pytest.mark.parametrize("dataset", RELEASED)
def test_constants_of_recurrent_networks_and_of_tau(paper, dataset):
    models = {name: published(paper, name, dataset) for name in CONSTANTS}
    for name in ("convlstm", "e3dlstm", "mau", "predrnn", "predrnnpp"):
        assert models[name].sampling == ScheduledSampling(stop=50_000, rate=2e-5), name
    reverse = ReverseScheduledSampling(start=25_000, stop=50_000, decay=5_000.0)
    decoupling = {"moving_mnist": 0.1, "human36m": 0.1, "taxibj": 0.1}.get(dataset, 0.01)
    decoupled = models["predrnnv2"]
    assert (decoupled.sampling, decoupled.decouple_beta) == (reverse, decoupling)
    assert models["tau"].change_weight == 0.1
    physics = models["phydnet"]
    assert (physics.moment_weight, physics.teacher_forcing) == (1.0, 0.003)
    assert (models["e3dlstm"].window, models["mau"].tau) == (2, 5)


@pytest.mark.parametrize("dataset", RELEASED)
def test_mcvd(paper, dataset):
    model = published(paper, "mcvd", dataset)
    if dataset != "cityscapes":  # whose release shows and predicts more frames than the paper
        assert sum(p.numel() for p in model.parameters()) == RELEASED[dataset][-1]
    clip = 10.0 if dataset == "weatherbench" else 1.0  # config/models/mcvd.yaml says why
    assert model.sampler == Sampler(name="ddpm", steps=250, clip=clip, denoise=True)
    assert model.signal_shares == signal_shares(1000, (0.02, 1e-4))
    assert model.mask_context == 0
    spades = [m for m in model.modules() if type(m).__name__ == "Spade"]
    assert {spade.enter.out_channels for spade in spades} == {128}
    channels = paper.config.datasets[dataset].shape[0]
    assert {spade.enter.in_channels for spade in spades} == {model.context * channels}
    train = TrainOptions.from_recipe(paper.train("mcvd", dataset, 0).train)
    assert (train.ema, train.clip_norm) == (0.001, 1)
    steps = train.iterations
    assert steps is not None
    rates = [train.learning_rate(step, steps) / train.lr for step in (0, 2_500, 5_000, steps - 1)]
    assert rates == pytest.approx([1 / 5_000, 0.5001, 1, 1])


def test_phydnet_shows_the_truth_with_a_probability_that_falls_by_the_epoch(monkeypatch):
    """max(0, 1 - 0.003 epoch): one draw below it for all clips and inputs of a step."""
    torch.manual_seed(0)
    model, clip = PhyDNet(SMALL, 2, 3, moment_weight=0.0), torch.rand(2, 5, *SMALL)

    @torch.no_grad()
    def loss(drawn: float, forcing: float) -> float:
        monkeypatch.setattr(torch, "rand", lambda *_, **__: torch.tensor(drawn))
        model.teacher_forcing = forcing
        return model.loss(clip, 0).item()

    model.begin_epoch(1)
    with_truth, without = loss(0.5, 0.0), loss(0.5, 1.0)
    assert with_truth != without
    for epoch in (0, 1, 100, 333, 334, 500):
        model.begin_epoch(epoch)
        probability = max(0.0, 1 - 0.003 * epoch)
        if probability > 0:
            assert loss(probability - 1e-4, 0.003) == with_truth, epoch
        if probability < 1:
            assert loss(probability + 1e-4, 0.003) == without, epoch


# Interruptions


RANDOM = {
    "convlstm": {"scheduled_sampling": {"stop": 30, "rate": 0.03}},
    "predrnnv2": {"scheduled_sampling": {"start": 4, "stop": 12, "decay": 3.0}},
    "phydnet": {"teacher_forcing": 0.3},
    "earthformer": {**SHALLOW, "drop": 0.3},
    "mcvd": {"mask_context": 0.3},
}
"""A model for each kind of randomness in a step, with constants that matter in 9 steps."""


class Probabilities:
    """Notes what each step was told, or drew, about the truth."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[Any] = []
        for kind, method in (
            (ScheduledSampling, "probability"),
            (ReverseScheduledSampling, "probabilities"),
        ):
            monkeypatch.setattr(kind, method, self.noting(getattr(kind, method)))
        loss = PhyDNet.loss

        def of_phydnet(model: PhyDNet, clip: torch.Tensor, step: int) -> torch.Tensor:
            self.seen.append((step, model.epoch))
            return loss(model, clip, step)

        monkeypatch.setattr(PhyDNet, "loss", of_phydnet)

    def noting(self, method: Any) -> Any:
        def noted(sampling: Any, step: int) -> Any:
            self.seen.append((step, method(sampling, step)))
            return self.seen[-1][1]

        return noted


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long(part="learning"))
        if name in ("predrnnv2", "phydnet", "mcvd")
        else name
        for name in RANDOM
    ],
)
def test_an_interruption_changes_no_probability_and_no_draw(tmp_path, monkeypatch, name):
    data = write_squares(tmp_path / "data")
    train = {"batch_size": 8, "max_clips": 24, "epochs": 3, "max_val_clips": 2}  # 3 steps an epoch
    what = {**recipe(name, SMALL, **RANDOM[name]), "train": train}
    noted = Probabilities(monkeypatch)
    run(job(tmp_path / "straight", data, what))
    straight, noted.seen = noted.seen, []

    asked = iter([False] * 4 + [True] + [False] * 2 + [True])  # after a step, in a validation
    for _ in range(3):
        random.seed(1)
        torch.manual_seed(1)  # another process begins with other random states
        with suppress(Interrupted):
            again = job(tmp_path / "halting", data, what, lambda: next(asked, False))
            extras = run(again)
    assert extras["resumes"] == [4, 6]
    assert noted.seen == straight
    if name in ("convlstm", "predrnnv2", "phydnet"):
        assert [step for step, _ in straight] == list(range(9))
        assert len({actual for _, actual in straight}) > 2
    ours, theirs = (
        torch.load(tmp_path / folder / "out" / "model.pt", weights_only=True)["state_dict"]
        for folder in ("straight", "halting")
    )
    assert all(torch.equal(ours[key], theirs[key]) for key in ours)
