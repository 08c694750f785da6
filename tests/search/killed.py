"""A search that is killed (SIGKILL) in its third trial, before a checkpoint of the second epoch."""

import os
import signal

from bar_plan import SCALE, SPACE

from stp.plan.cells import Plan
from stp.search import trial
from stp.search.run import search
from stp.search.space import Space

plain = trial.Reporter.after_epoch


def after_epoch(self, training, row):
    plain(self, training, row)
    if self.trial.number == 2 and row["epoch"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)


trial.Reporter.after_epoch = after_epoch
search(Plan.load(SCALE), "small_convnet", "bar", space=Space.of(SPACE, "space"))
