"""Human motion: tracks, scenarios, maps, densities, and predictors, one file each.

This room is for people what `data` and `models` are for frames. Readers of tracks are in `prepare`,
calibration and training in `train`, metrics in `metrics`.
"""
