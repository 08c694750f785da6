"""Social GAN: the published weights fit, and what they compute is what a reader would."""

import numpy as np
import pytest
import torch
from crowds import crowd

from stp.core.errors import StpError
from stp.tracks.predictors import social_gan


def by_hand(network: social_gan.SocialGan, path: np.ndarray, noise: np.ndarray, steps: int):
    """One person, with cells of an LSTM written out."""
    weights = {name: value.detach().numpy() for name, value in network.state_dict().items()}

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def cell(part, x, hidden, memory):
        name = f"{part}.{part}"
        gates = weights[f"{name}.weight_ih_l0"] @ x + weights[f"{name}.bias_ih_l0"]
        gates = gates + weights[f"{name}.weight_hh_l0"] @ hidden + weights[f"{name}.bias_hh_l0"]
        enter, forget, new, leave = np.split(gates, 4)
        memory = sigmoid(forget) * memory + sigmoid(enter) * np.tanh(new)
        return sigmoid(leave) * np.tanh(memory), memory

    def embed(part, step):
        name = f"{part}.spatial_embedding"
        return weights[f"{name}.weight"] @ step + weights[f"{name}.bias"]

    hidden = memory = np.zeros(32)
    moves = np.diff(path, axis=0, prepend=path[:1])
    for move in moves:
        hidden, memory = cell("encoder", embed("encoder", move), hidden, memory)
    for layer in ("0", "2"):
        name = f"mlp_decoder_context.{layer}"
        hidden = np.maximum(0, weights[f"{name}.weight"] @ hidden + weights[f"{name}.bias"])
    hidden, memory, move, place = np.concatenate([hidden, noise]), np.zeros(32), moves[-1], path[-1]
    found = []
    for _ in range(steps):
        hidden, memory = cell("decoder", embed("decoder", move), hidden, memory)
        move = weights["decoder.hidden2pos.weight"] @ hidden + weights["decoder.hidden2pos.bias"]
        place = place + move
        found.append(place)
    return np.array(found)


@pytest.fixture(scope="module")
def network() -> social_gan.SocialGan:
    torch.manual_seed(0)
    return social_gan.SocialGan().eval()


def test_its_size_is_the_published_one(network):
    assert sum(p.numel() for p in network.parameters()) == 16_634


def test_everybody_is_predicted_as_by_hand_and_shares_the_noise_of_the_scenario(network):
    scenarios = crowd(scenes=3, people=4, observe=8)
    found = social_gan.draw(scenarios, 12, network, None, samples=2, seed=5)
    assert found.shape == (2, 3, 4, 12, 2)
    for scene, person in zip(*np.nonzero(scenarios.present), strict=True):
        start = int(scenarios.start[scene])
        noise = np.random.default_rng([5, start + 2**31]).normal(size=(2, 8))[1]
        expected = by_hand(network, scenarios.observed[scene, person], noise, 12)
        np.testing.assert_allclose(found[1, scene, person], expected, atol=1e-4)
    assert (np.isnan(found[0]).all(axis=(2, 3)) == ~scenarios.present).all()


def test_a_scenario_alone_is_predicted_as_among_others(network):
    scenarios = crowd(scenes=4, people=3, observe=8)
    together = social_gan.draw(scenarios, 5, network, None, samples=3, seed=0)
    alone = social_gan.draw(next(scenarios.batches(1)), 5, network, None, samples=3, seed=0)
    np.testing.assert_allclose(together[:, :1, : alone.shape[2]], alone, atol=1e-6)


def test_another_file_is_refused(tmp_path, network):
    path = tmp_path / "eth.pt"
    torch.save({"g_state": {"encoder.weight": torch.zeros(3)}}, path)
    with pytest.raises(StpError, match=r"eth\.pt"):
        social_gan.load(path)
    path.write_bytes(b"PK")
    with pytest.raises(StpError, match=r"eth\.pt"):
        social_gan.load(path)
    torch.save({"g_state": network.state_dict(), "args": {"obs_len": 8}}, path)
    assert social_gan.load(path).state_dict().keys() == network.state_dict().keys()


@pytest.mark.sample_bytes
def test_the_published_weights_predict_people(raw_mirror):
    """They go on about as fast as they went."""
    scenarios = crowd(scenes=5, people=3, observe=8)
    for name in ("sgan_eth_8", "sgan_eth_12"):
        network = social_gan.load(raw_mirror / f"atlas/weights/{name}.pt")
        found = social_gan.draw(scenarios, 12, network, None, samples=10, seed=0)
        found = found[:, scenarios.present]
        assert np.isfinite(found).all()
        walked = np.linalg.norm(np.diff(found, axis=2), axis=-1).mean()
        before = np.linalg.norm(np.diff(scenarios.observed, axis=2), axis=-1)
        assert 0.5 < walked / np.nanmean(before) < 1.5
