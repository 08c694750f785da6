"""Published sizes of all networks: parameters, without memory for them."""

import pytest
import torch

from stp.models.create import create
from stp.plan.checked_config import CONFIG_FOLDER, read_yaml

CASES = [  # options, shape of a frame, T_in, T_out and parameters
    # PredBench, table 19: "12.09 M" is the size for C = 3
    ("convlstm", {"patch_size": 4}, (3, 64, 64), 10, 10, 12_089_344),
    # Others without a comment: counted in the released configurations.
    ("convlstm", {"patch_size": 2}, (1, 64, 64), 10, 10, 11_520_512),
    ("convlstm", {"patch_size": 2}, (69, 128, 256), 10, 10, 15_036_928),
    ("e3dlstm", {"num_hidden": [128] * 4}, (1, 64, 64), 10, 10, 51_347_456),  # "51.35 M"
    ("e3dlstm", {"num_hidden": [64] * 4}, (1, 64, 64), 10, 10, 13_148_160),
    ("e3dlstm", {}, (1, 64, 64), 10, 10, 13_148_160),
    ("e3dlstm", {}, (1, 384, 384), 10, 10, 22_323_200),
    ("e3dlstm", {}, (2, 32, 32), 10, 10, 13_312_000),
    ("mau", {"scale": 4}, (1, 64, 64), 10, 10, 4_475_329),  # "4.475 M"
    ("mau", {"scale": 2}, (1, 64, 64), 10, 10, 7_547_201),
    ("mau", {"scale": 2}, (1, 384, 384), 10, 10, 154_347_841),
    ("mau", {"scale": 2}, (2, 32, 32), 10, 10, 4_401_602),
    ("phydnet", {"scale": 4}, (1, 64, 64), 10, 10, 3_091_732),  # "3.092 M", at either scale
    ("phydnet", {"scale": 2}, (1, 64, 64), 10, 10, 3_091_732),
    ("phydnet", {"scale": 2}, (2, 64, 64), 10, 10, 3_092_309),  # the released TaxiBJ
    ("predrnn", {}, (1, 64, 64), 10, 10, 23_838_720),  # "23.84 M"
    ("predrnnpp", {}, (3, 64, 64), 10, 10, 36_028_416),  # "36.028 M"
    ("predrnnv2", {}, (1, 64, 64), 10, 10, 23_855_104),  # "23.86 M"
    ("simvpv1", {"n_t": 8}, (1, 64, 64), 10, 10, 57_946_113),  # "57.95 M"
    ("simvpv1", {"n_t": 6}, (1, 64, 64), 10, 10, 43_764_737),
    ("simvpv2", {"n_t": 8}, (1, 64, 64), 10, 10, 46_769_665),  # "46.77 M"
    ("simvpv2", {"n_t": 6}, (1, 64, 64), 10, 10, 36_104_705),
    ("simvpv2", {"n_t": 6}, (1, 24, 48), 12, 12, 39_862_785),
    ("simvpv2", {"n_t": 6}, (69, 128, 256), 2, 2, 27_669_573),
    ("tau", {"n_t": 8}, (1, 64, 64), 10, 10, 44_656_001),  # "44.66 M"
    ("tau", {"n_t": 6}, (1, 64, 64), 10, 10, 34_483_585),
    ("mcvd", {"width": 96}, (1, 64, 64), 10, 10, 102_014_314),
    # ChaosBench: counted on the released modules, for 60 and 124 variables
    *(
        (name, {}, (channels, 121, 240), 1, 1, size)
        for name, sizes in {
            "lagged_ae": (21_687_563, 21_728_779),
            "resnet": (34_870_524, 35_075_388),
            "unet": (31_082_108, 31_123_132),
            "fno": (45_969_724, 45_977_980),
            "vae": (42_439_051, 42_480_267),
        }.items()
        for channels, size in zip((60, 124), sizes, strict=True)
    ),
    # SCV: derived layer by layer in docs/scv.md
    ("cdna", {}, (3, 64, 64), 2, 14, 8_311_368),
    ("cdna", {}, (3, 128, 128), 2, 14, 14_455_368),
    ("sv2p", {}, (3, 64, 64), 2, 14, 8_382_186),
    ("svg", {}, (3, 64, 64), 2, 14, 22_197_911),
    ("svg", {"prior": "learned"}, (3, 64, 64), 2, 14, 22_762_411),
    ("svg", {"widths": [64, 128, 256, 512, 512]}, (3, 128, 128), 2, 14, 38_722_199),
    ("savp", {}, (3, 64, 64), 2, 14, 19_935_372),
    ("savp", {"gan_weight": 0, "gan_vae_weight": 0}, (3, 64, 64), 2, 14, 9_583_690),
]
RELEASED = {  # parameters of Earthformer and MCVD in the configurations that PredBench released
    "moving_mnist": ((1, 64, 64), 10, 10, 6_702_109, 54_288_074),  # table 19: "6.702 M", "54.29 M"
    "kth": ((1, 128, 128), 10, 10, 1_414_853, 101_568_490),
    "human36m": ((3, 256, 256), 4, 4, 1_443_063, 100_702_764),
    "bair": ((3, 64, 64), 2, 10, 1_401_095, 101_786_238),
    "robonet": ((3, 120, 160), 2, 10, 1_416_487, 98_563_518),
    "bridge": ((3, 120, 160), 2, 10, 1_416_487, 98_563_518),
    "cityscapes": ((3, 128, 128), 10, 10, 1_416_135, 102_916_350),
    "kitti": ((3, 128, 160), 10, 10, 1_418_503, 100_139_454),
    "nuscenes": ((3, 128, 160), 10, 10, 1_418_503, 100_139_454),
    "taxibj": ((2, 32, 32), 4, 4, 1_392_694, 100_215_464),
    "traffic4cast": ((8, 128, 112), 9, 3, 1_417_044, 102_886_968),
    "enso": ((1, 24, 48), 12, 14, 1_394_325, 98_929_838),
    "sevir": ((1, 384, 384), 13, 12, 8_659_677, 98_992_044),
    "weatherbench": ((69, 128, 256), 2, 1, 1_465_785, 109_074_981),
}


def size(name: str, options: dict, shape: tuple[int, int, int], context: int, horizon: int) -> int:
    about = {"shape": shape, "context": context, "horizon": horizon}
    with torch.device("meta"):
        model = create({"model": name, "options": options, **about})
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(("name", "options", "shape", "context", "horizon", "parameters"), CASES)
def test_published_size(name, options, shape, context, horizon, parameters):
    assert size(name, options, shape, context, horizon) == parameters


@pytest.mark.parametrize("dataset", RELEASED)
def test_size_of_the_configuration_of_a_dataset(dataset):
    """Most of MCVD's are in test_models_tricks.py, which builds it for other reasons, too."""
    *about, earthformer, mcvd = RELEASED[dataset]
    expected = {"earthformer": earthformer} | ({"mcvd": mcvd} if dataset == "cityscapes" else {})
    for name, parameters in expected.items():
        config = read_yaml(CONFIG_FOLDER / "models" / f"{name}.yaml")
        options = {**config["options"], **config["datasets"].get(dataset, {}).get("options", {})}
        assert size(name, options, *about) == parameters
