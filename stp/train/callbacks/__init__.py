"""What a training may do besides its steps (``train.callbacks``), one file each.

A module has a class ``Callback(*, ...)`` with any of these methods, called by every process of a
training (stp.train.gradient_descent):

- ``after_step(training, loss)``: loss of the batch.
- ``after_epoch(training, row)``: the new row of history.parquet, validation included (``val_mse``
  is None where there was none).
- ``state()`` and ``load_state(state)``: what has to survive an interruption, as JSON values.

``training.stop_early(why)`` ends the training after this epoch.
"""
