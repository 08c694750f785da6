"""The recall of E3D-LSTM: its formula, its memory, and the released order of operations."""

import numpy as np
import pytest
import torch

from stp.models import e3dlstm
from stp.models.e3dlstm import Model, tokens
from stp.profiling.memory import activation_bytes

SMALL = {"num_hidden": [6, 6], "filter_size": 3, "patch_size": 2}


def small(context=3, horizon=2, **options):
    torch.manual_seed(0)
    return Model((1, 8, 8), context, horizon, **{**SMALL, **options})


def recalled_by_matrix(query, past, attention="positions"):
    """The formula, with the matrix of all pairs of tokens."""
    actual = (tokens(query, attention) @ past.transpose(1, 2)).softmax(dim=-1) @ past
    return (actual if attention == "released" else actual.transpose(1, 2)).reshape(query.shape)


def trained_once(attention):
    """A loss and its gradients, double precision."""
    model = small(num_hidden=[8, 8], attention=attention, l1_weight=1.0).double()
    clip = torch.rand(2, 5, 1, 8, 8, generator=torch.Generator().manual_seed(1)).double()
    loss = model.loss(clip, 0)
    loss.backward()
    return loss.item(), [p.grad for p in model.parameters()]


@pytest.mark.parametrize("attention", ["positions", "released"])
def test_recall_keeps_no_matrix_and_has_the_loss_and_gradients_of_the_formula(
    attention, monkeypatch
):
    loss, gradients = trained_once(attention)
    monkeypatch.setattr(e3dlstm, "_recall", recalled_by_matrix)
    expected_loss, expected = trained_once(attention)
    assert loss == pytest.approx(expected_loss, rel=1e-12)
    for actual, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(actual, wanted, rtol=6e-7, atol=1e-12)


@pytest.mark.parametrize("attention", ["positions", "released"])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_recall_keeps_its_tokens_and_no_matrix_of_their_pairs(attention, device):
    """On a processor, and where plans count: on tensors without memory."""
    with torch.device(device):
        gate = torch.nn.Conv2d(16, 16, 1)
        frames, past = torch.empty(1, 16, 16, 16).fill_(0.5), torch.empty(1, 2048, 16).fill_(0.5)
        kept = activation_bytes(
            gate, lambda: e3dlstm._recall(gate(frames)[:, :, None], past, attention).sum()
        )
    matrix = 4 * 16 * 16 * past.shape[1]
    assert kept < 2 * past.nbytes < matrix / 4


def test_positions_are_tokens_and_channels_are_not_mixed():
    film = torch.arange(2 * 3 * 2 * 4 * 5.0).reshape(2, 3, 2, 4, 5)
    actual = tokens(film)
    assert actual.shape == (2, 2 * 4 * 5, 3)
    assert torch.equal(actual[1, 1 * 20 + 2 * 5 + 3], film[1, :, 1, 2, 3])


def test_released_attention_cuts_memory_as_it_lies():
    """Against the order of operations of the ports, in NumPy, on the way through a whole model.

    Films of all steps are joined along the channels; query and films are then read as rows of C
    numbers, whatever they mean; and the found rows are read as a film again. With 12 positions and
    5 channels a row begins in one frame or channel and ends in the next.
    """
    torch.manual_seed(0)
    options = {**SMALL, "num_hidden": [5], "attention": "released"}
    model, frames = Model((1, 6, 8), 3, 2, **options).eval(), torch.rand(2, 3, 1, 6, 8)
    cell, steps, normalised = model.cells[0], [], []
    torch.nn.init.normal_(cell.from_hidden.weight)  # for sharper attention
    cell.register_forward_hook(lambda _, inputs, outputs: steps.append((inputs, outputs)))
    cell.norm.register_forward_hook(lambda _, inputs, __: normalised.append(inputs[0]))
    with torch.no_grad():
        model(frames, 2)
    history = []
    for ((x, h, c, *_), _), actual in zip(steps, normalised, strict=True):
        history.append(c.numpy())
        gates = [
            torch.nn.functional.conv2d(film.flatten(1, 2), conv.weight.detach(), padding=1)
            for film, conv in ((x, cell.from_input), (h, cell.from_hidden))
        ]
        gate = torch.sigmoid(gates[0][:, 10:15] + gates[1][:, 10:15]).numpy()  # r, the third
        query = np.stack([gate, gate], axis=2)  # repeated to fill the film: (B, C, window, H, W)
        joined = np.concatenate(history, axis=1)
        for clip in range(2):
            rows, past = query[clip].reshape(-1, 5), joined[clip].reshape(-1, 5)
            weights = np.exp(rows @ past.T)
            weights /= weights.sum(axis=1, keepdims=True)
            expected = c[clip].numpy() + (weights @ past).reshape(5, 2, 3, 4)
            np.testing.assert_allclose(actual[clip].numpy(), expected, rtol=1e-4, atol=1e-5)
    assert len(history) == 4
    assert np.abs(history[-1]).max() > 0.1
