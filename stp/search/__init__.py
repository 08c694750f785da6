"""Search for hyper-parameters: short trainings, judged on the validation split, with Optuna.

Spaces are in `config/search/<model>.yaml`.
"""
