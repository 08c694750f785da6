"""Estimates of the costs of jobs: amounts of work, rates, and the assumptions behind them."""
