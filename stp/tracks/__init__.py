"""Human motion: tracks, scenarios, maps, densities, and predictors, one file each.

This package does for people what `data` and `models` do for frames. Readers of tracks are in
`prepare`, fitting is in `train`, errors of predictions are in `metrics`.
"""
