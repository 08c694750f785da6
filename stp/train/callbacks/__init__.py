"""Callbacks of a training (``train.callbacks``), one file each.

A module has a class ``Callback(*, ...)`` with any of these methods, which every process of a
training (stp.train.gradient_descent) calls:

- ``after_step(training, loss)``: ``loss`` is that of the batch.
- ``after_epoch(training, row)``: ``row`` is the new row of history.parquet, whose ``val_mse`` is
  None if the epoch was not validated.
- ``state()`` and ``load_state(state)``: state that survives an interruption, as JSON values.

``training.stop_early(why)`` ends the training after this epoch.
"""
