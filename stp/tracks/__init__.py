"""Human motion: tracks, scenarios, maps, densities, and predictors, one file each.

It is what `data` and `models` are for frames. Readers of tracks are in `prepare`, fitting is in
`train`, errors of predictions are in `metrics`.
"""
