"""Table III of Atlas, test on ETH: from the sample bytes, within .001 of what is printed.

The paper truncates or rounds its last digit. The means rest on 31 overlapping scenarios of eight
episodes.
"""

from pathlib import Path

import pytest

from stp.prepare import track_maps as maps
from stp.prepare.track_readers import ewap, trajnetpp
from stp.tracks import errors
from stp.tracks.predictors import constant_velocity, karamouzas, social_force, social_gan
from stp.tracks.scenarios import Scenarios, extract

pytestmark = pytest.mark.sample_bytes

SOF = {
    "eth": (1199.9814, 1488.0152, 1.00834, 998.6924, 0.0050174, 0.1076019),
    "atc": (1134.961894, 84.0398402, 662.7564458, 9.7358345, 0.0058939, 3.8602162),
    "thor1": (1156.8041062, 1056.5293093, 330.4844058, 14.1704828, 0.0055435, 9.5643523),
    "thor3": (35.0709516, 1430.5707239, 113.4598027, 960.7191834, 0.11274, 0.1472571),
}
"""Released calibrations, in the order of the search space."""
KARA = {
    "eth": (3.2878774, 1.8106567, 0.1755031, 0.1826104, 39.3430601),
    "atc": (38.9301925, 24.5254315, 2.2818583, 15.4386623, 1.2452325),
    "thor1": (38.4198177, 29.9343261, 1.9789743, 1.3574775, 48.6561714),
    "thor3": (0.2271577, 18.5648998, 3.2775724, 1.4402761, 85.4728551),
}
PRINTED = {
    (social_force, "eth"): (0.277, 0.11),
    (social_force, "atc"): (0.29, 0.13),
    (social_force, "thor1"): (0.31, 0.14),
    (social_force, "thor3"): (0.29, 0.12),
    (karamouzas, "eth"): (0.278, 0.12),
    (karamouzas, "atc"): (0.34, 0.15),
    (karamouzas, "thor1"): (0.28, 0.11),
    (karamouzas, "thor3"): (0.28, 0.11),
}


@pytest.fixture(scope="module")
def eth(raw_mirror: Path) -> Scenarios:
    path = raw_mirror / "atlas/atlas_dataset/eth_data/biwi_eth.ndjson"
    tracks = trajnetpp.read(path, step=6, dt=0.4)
    return extract(tracks.part(0.2, 1), observe=6, predict=10, protocol="atlas-paper")


@pytest.fixture(scope="module")
def obstacles(raw_mirror: Path):
    folder = raw_mirror / "atlas/atlas_dataset/eth_data"
    return maps.read_picture(folder / "map-eth.png", folder / "H-eth.txt")


def mean_and_std(eth: Scenarios, predicted) -> tuple[float, float]:
    values = errors.by_scenario(errors.ade(errors.displacement(predicted, eth.future)))
    return float(values.mean()), float(values.std())


def test_the_scenarios_are_those_of_the_paper(eth, obstacles):
    assert (len(eth), int(eth.present.sum()), len(set(eth.episode))) == (31, 88, 8)
    assert len(obstacles.position) == 5506


def test_constant_velocity(eth):
    mean, std = mean_and_std(
        eth, constant_velocity.predict(eth, 10, constant_velocity.Parameters())
    )
    assert mean == pytest.approx(0.283, abs=0.001) and std == pytest.approx(0.12, abs=0.005)


@pytest.mark.parametrize(
    ("model", "calibrated"),
    PRINTED,
    ids=lambda part: part if isinstance(part, str) else part.__name__.rpartition(".")[2],
)
def test_force_models(model, calibrated, eth, obstacles):
    values = {social_force: SOF, karamouzas: KARA}[model][calibrated]
    parameters = model.Parameters(**dict(zip(model.SEARCH, values, strict=True)))
    mean, std = mean_and_std(eth, model.predict(eth, 10, parameters, obstacles))
    printed, printed_std = PRINTED[model, calibrated]
    digits = 0.001 if calibrated == "eth" else 0.01
    assert mean == pytest.approx(printed, abs=digits)
    assert std == pytest.approx(printed_std, abs=0.01)


def test_social_gan(eth, raw_mirror):
    """The paper does not say what this cell was observed for; six positions give its mean."""
    network = social_gan.load(raw_mirror / "atlas/weights/sgan_eth_12.pt")
    drawn = social_gan.draw(eth, 10, network, None, samples=25, seed=0)
    found = errors.displacement(drawn, eth.future)
    assert errors.by_scenario(errors.ade(found)).mean() == pytest.approx(0.787, abs=0.01)


def test_the_original_obsmat_gives_the_same(eth, raw_mirror):
    """TrajNet++ left out 92 rows, rounded, and counts frames from 0: no scenario changes."""
    path = raw_mirror / "atlas/opentraj/datasets/ETH/seq_eth/obsmat.txt"
    tracks = ewap.read(path, step=6, dt=0.4)
    assert len(tracks) == 8908
    whole = extract(tracks.part(0.2, 1), observe=6, predict=10, protocol="atlas-paper")
    assert (whole.start + 0).tolist() == (eth.start + 1).tolist()
    mean, _ = mean_and_std(
        whole, constant_velocity.predict(whole, 10, constant_velocity.Parameters())
    )
    assert mean == pytest.approx(0.283, abs=0.001)


def test_students03_has_no_scenario_at_all(raw_mirror):
    """In a crowd somebody always comes or goes: the rule that all stay finds nothing (facts)."""
    path = raw_mirror / "atlas/opentraj/datasets/UCY/students03/obsmat.txt"
    tracks = ewap.read(path, step=10, dt=0.4)
    assert len(extract(tracks, observe=8, predict=12, protocol="atlas-paper")) == 0
    assert len(extract(tracks, observe=4, predict=4, protocol="atlas-paper")) == 4
