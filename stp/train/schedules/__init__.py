"""Learning rates as functions of the step, one file each, with the formulas of torch.optim.

The functions have no state, so a resumed training run needs only the number of the step.
"""
