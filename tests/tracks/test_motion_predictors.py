"""Predictors over all people and scenarios at once give what they give person by person."""

import numpy as np
import pytest
from crowds import crowd

from benchmarks.plain import motion as plain
from stp.tracks import obstacles
from stp.tracks.predictors import constant_velocity, karamouzas, social_force, zanlungo

FORCES = (social_force, karamouzas, zanlungo)
PLACES = {
    "nothing": None,
    "map": obstacles.cells(np.random.default_rng(5).uniform(0, 8, (40, 2))),
    "discs": obstacles.discs(np.array([[2.0, 2.0], [6.0, 5.0]]), np.array([0.8, 1.5])),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("model", FORCES, ids=lambda model: model.__name__.rpartition(".")[2])
def test_the_same_as_person_by_person(model, place):
    scenarios = crowd(scenes=12, people=7)
    together = model.predict(scenarios, 10, model.Parameters(), PLACES[place])
    alone = plain.predict(model, scenarios, 10, model.Parameters(), PLACES[place])
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", FORCES, ids=lambda model: model.__name__.rpartition(".")[2])
def test_parameters_at_the_ends_of_the_search_space(model):
    scenarios = crowd(scenes=4, people=5, seed=1)
    for end in (0, 1):
        given = {name: ends[end] for name, ends in model.SEARCH.items()}
        parameters = model.Parameters(**given)
        together = model.predict(scenarios, 6, parameters, PLACES["map"])
        alone = plain.predict(model, scenarios, 6, parameters, PLACES["map"])
        np.testing.assert_allclose(together, alone, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("model", FORCES, ids=lambda model: model.__name__.rpartition(".")[2])
def test_who_is_alone_walks_on(model):
    scenarios = crowd(scenes=5, people=4)
    scenarios.person[:, 1:] = -1
    scenarios.observed[:, 1:] = np.nan
    walked = model.predict(scenarios, 8, model.Parameters())[:, 0]
    on = constant_velocity.predict(scenarios, 8, constant_velocity.Parameters())[:, 0]
    np.testing.assert_allclose(walked, on, atol=1e-9)


@pytest.mark.parametrize("model", FORCES, ids=lambda model: model.__name__.rpartition(".")[2])
def test_other_scenarios_and_empty_places_change_nothing(model):
    scenarios = crowd(scenes=9, people=6)
    together = model.predict(scenarios, 5, model.Parameters(), PLACES["map"])
    pieces = [
        model.predict(batch, 5, model.Parameters(), PLACES["map"]) for batch in scenarios.batches(2)
    ]
    begin = 0
    for piece in pieces:
        same = together[begin : begin + len(piece), : piece.shape[1]]
        np.testing.assert_allclose(piece, same, atol=1e-12)
        begin += len(piece)
    assert begin == len(scenarios)
    assert (np.isnan(together).all(axis=(2, 3)) == ~scenarios.present).all()


def test_the_search_spaces_are_those_of_the_released_configuration():
    ends = {model.__name__.rpartition(".")[2]: list(model.SEARCH.values()) for model in FORCES}
    assert ends == {
        "social_force": [(0, 1200), (0, 1500), (1, 800), (1, 1000), (0.005, 10), (0.005, 10)],
        "karamouzas": [(0.005, 40), (0.005, 30), (0.005, 10), (0.001, 30), (1, 100)],
        "zanlungo": [(1, 1200), (1, 1500), (1, 70), (1, 1500), (0.001, 10), (0.001, 10)],
    }


def test_a_standing_person_stays():
    scenarios = crowd(scenes=3, people=3)
    scenarios.observed[:, 0] = scenarios.observed[:, 0, :1]
    for model in FORCES:
        path = model.predict(scenarios, 5, model.Parameters(), PLACES["discs"])[:, 0]
        np.testing.assert_array_equal(path, np.repeat(scenarios.observed[:, 0, -1:], 5, axis=1))


def test_weights_of_velocities_are_those_measured_in_the_released_code():
    from stp.tracks.velocity import weights

    measured = {
        5: [0.005913, 0.034987, 0.132727, 0.322849, 0.503524],
        7: [0.000044, 0.000640, 0.005909, 0.034963, 0.132636, 0.322628, 0.503179],
    }
    for count, expected in measured.items():
        np.testing.assert_allclose(weights(count), expected, atol=6e-7)
    assert weights(4, "linear").tolist() == [0.25] * 4
    assert weights(4, "constant").tolist() == [0, 0, 0, 1]
