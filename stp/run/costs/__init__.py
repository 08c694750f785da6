"""What jobs are expected to cost: work, rates, and the assumptions behind them."""
