"""Stage `train`: fit models to prepared data, by gradient descent or calibration.

Each loss, schedule and callback has a file of its own in the folder of that name. The architectures
of networks are in `stp.models` and `stp.tracks`.
"""
