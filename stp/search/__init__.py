"""Search for hyper-parameters: the validation criterion of short trainings, with Optuna."""
