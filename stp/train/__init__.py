"""Prepared data -> trained model: gradient descent, calibration, checkpoints.

Losses, schedules and callbacks are one file each in folders of their names; the architecture is in
`models` or `tracks`.
"""
