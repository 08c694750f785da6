"""Units, devices and precision."""

import subprocess
import sys

import pytest
import torch

from stp.core.errors import StpError
from stp.models.compute import set_up_compute
from stp.models.normalisation import Normalisation


def test_normalisation_with_one_constant_or_those_of_each_channel():
    normalisation = Normalisation.of({"normalisation": {"offset": -10.0, "scale": 4.0}})
    assert normalisation.apply_(torch.full((1, 1, 2, 2), 2.0)).unique().tolist() == [3.0]
    assert normalisation.undo(torch.full((1, 1, 2, 2), 3.0)).unique().tolist() == [2.0]
    normalisation = Normalisation([1.0, 2.0], [2.0, 4.0])
    normalised = normalisation.apply_(torch.full((5, 2, 3, 3), 6.0))
    assert normalised[0, :, 0, 0].tolist() == [2.5, 1.0]
    assert normalisation.undo(normalised).unique().tolist() == [6.0]


def test_a_variable_that_does_not_exist_is_shown_as_its_mean():
    values = torch.tensor([[[6.0, torch.nan, torch.inf]]])
    assert Normalisation(2.0, 4.0).apply_(values).tolist() == [[[1.0, 0.0, torch.inf]]]
    assert values[0, 0, 0] == 1.0  # in place


def test_bf16_on_a_cpu_becomes_float32_and_says_so():
    with set_up_compute("cpu", 1, "bf16") as compute, compute.autocast():
        product = torch.ones(2, 2) @ torch.ones(2, 2)
    assert product.dtype == torch.float32
    precision = compute.describe()["precision"]
    assert (precision["requested"], precision["used"]) == ("bf16", "float32")
    assert "CPU" in precision["why"]


def test_threads_and_determinism_hold_inside_only():
    before = torch.get_num_threads()
    with set_up_compute("cpu", before + 1, "float32"):
        assert torch.get_num_threads() == before + 1
        assert torch.are_deterministic_algorithms_enabled()
    assert torch.get_num_threads() == before
    assert not torch.are_deterministic_algorithms_enabled()


def test_no_compiler_is_imported_to_compute_reproducibly():
    """Importing it takes as long as importing torch, and every prediction would."""
    program = (
        "import sys, torch; from stp.models.compute import set_up_compute\n"
        "with set_up_compute('cpu', 1, 'float32'):\n"
        "    assert torch.are_deterministic_algorithms_enabled()\n"
        "assert 'torch._inductor' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried 2 GiB"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_used_up_memory_is_explained(error):
    with (
        pytest.raises(StpError, match=r"memory[\s\S]*batch_size"),
        set_up_compute("cpu", 1, "float32"),
    ):
        raise error


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="shapes"), set_up_compute("cpu", 1, "float32"):
        raise RuntimeError("shapes differ")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
@pytest.mark.parametrize("device", ["tpu", "cuda"])
def test_a_device_that_is_unknown_or_missing(device):
    with pytest.raises(StpError, match=f"'{device}'"), set_up_compute(device, 1, "float32"):
        pass
