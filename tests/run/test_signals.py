"""Signals become a wish to stop; work that cannot save its state is ended and cleaned up."""

import os
import signal

import pytest

from stp.run.cluster.signals import WARNING, Terminated, handle_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, WARNING])
def test_resumable_work_is_asked(number):
    with handle_signals(resumable=True) as stop:
        assert not stop()
        os.kill(os.getpid(), number)
        assert stop()
        os.kill(os.getpid(), signal.SIGTERM)
    assert stop.reason == signal.Signals(number).name, "the first reason counts"


def test_other_work_ignores_the_warning_and_is_ended_by_a_signal():
    with handle_signals(resumable=False) as stop:
        os.kill(os.getpid(), WARNING)
    assert stop.reason == "SIGURG"
    with pytest.raises(Terminated, match="SIGTERM"), handle_signals(resumable=False):
        os.kill(os.getpid(), signal.SIGTERM)


def test_afterwards_signals_do_what_they_did():
    before = signal.getsignal(signal.SIGTERM)
    with handle_signals(resumable=True):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
