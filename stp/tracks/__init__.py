"""Human motion: tracks, scenarios, maps, densities, and predictors, one file each.

This room does for people what `data` and `models` do for frames. Readers of tracks are in
`prepare`, calibration and training in `train`, metrics in `metrics`.
"""
