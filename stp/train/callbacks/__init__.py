"""Callbacks of a training run (``train.callbacks``), one file each.

A module has a class ``Callback(*, ...)`` with any of these methods, which are called in every
process of a training run (stp.train.gradient_descent):

- ``after_step(training, loss)``: ``loss`` is the loss of the batch.
- ``after_epoch(training, row)``: ``row`` is the new row of history.parquet; its ``val_mse`` is None
  if the epoch was not validated.
- ``state()`` and ``load_state(state)``: save and restore state across interruptions, as JSON
  values.

A callback may call ``training.stop_early(why)`` to end the training after the current epoch.
"""
