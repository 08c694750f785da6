"""Learning rates against torch's own schedulers and against numbers worked out by hand."""

import pytest
import torch

from stp.options.train import TrainOptions


def rates(steps: int, **given: object) -> list[float]:
    options = TrainOptions.from_recipe(given)
    return [options.learning_rate(step, steps) for step in range(steps)]


def torch_rates(make, steps: int, lr: float) -> list[float]:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    scheduler = make(optimizer)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if len(found) < steps:
            scheduler.step()
    return found


@pytest.mark.parametrize(
    ("steps", "pct_start", "div_factor", "final_div_factor"),
    [(100, 0.3, 25.0, 1e4), (57, 0.1, 50.0, 500.0), (40, 0.0, 25.0, 1e3), (3, 0.3, 25.0, 1e4)],
)
def test_onecycle_is_torchs(steps, pct_start, div_factor, final_div_factor):
    constants = {
        "pct_start": pct_start,
        "div_factor": div_factor,
        "final_div_factor": final_div_factor,
    }
    expected = torch_rates(
        lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(
            optimizer, 0.002, total_steps=steps, cycle_momentum=False, **constants
        ),
        steps,
        0.002,
    )
    assert rates(steps, lr=0.002, schedule={"onecycle": constants}) == pytest.approx(expected)


def test_onecycle_by_hand():
    # 100 steps, peak at 0.3 * 100 - 1 = 29; first 0.01 / 25 = 4e-4; last 4e-4 / 1e4 = 4e-8
    found = rates(100, lr=0.01, schedule="onecycle")
    assert found[0] == pytest.approx(4e-4)
    assert found[29] == max(found) == pytest.approx(0.01)
    # half way down, step 29 + 35: the mean of both ends
    assert found[64] == pytest.approx((0.01 + 4e-8) / 2)
    assert found[99] == pytest.approx(4e-8)


def test_onecycle_whose_peak_is_the_first_step():
    # 10 steps, 0.1 * 10 - 1 = 0; torch divides by zero here
    found = rates(10, lr=0.01, schedule={"onecycle": {"pct_start": 0.1}})
    assert found[0] == 0.01 and found == sorted(found, reverse=True)


def test_cosine_is_torchs():
    expected = torch_rates(
        lambda optimizer: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 50), 50, 0.002
    )
    assert rates(50, lr=0.002, schedule="cosine") == pytest.approx(expected)
    assert rates(50, lr=0.002, schedule="cosine")[25] == pytest.approx(0.001)


def test_constant():
    assert set(rates(5, lr=0.002, schedule="constant")) == {0.002}


@pytest.mark.parametrize(("steps", "warmup"), [(20, 8), (5, 8), (3, 1)])
def test_linear_warmup_is_torchs(steps, warmup):
    def make(optimizer):
        return torch.optim.lr_scheduler.LinearLR(
            optimizer, start_factor=1 / warmup, total_iters=warmup
        )

    found = rates(steps, schedule={"linear_warmup": {"warmup_steps": warmup}}, lr=0.02)
    assert found == pytest.approx(torch_rates(make, steps, 0.02), rel=1e-9)
