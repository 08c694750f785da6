"""Human motion: tracks (who was where, when), scenarios, maps, and predictors of people's paths.

A scenario is a moment in which all people present were seen long enough. Readers of tracks are in
`prepare`, calibration and training in `train`, metrics in `metrics`.
"""
