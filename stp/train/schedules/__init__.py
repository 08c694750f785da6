"""Learning rates as functions of the step, one file each, with the formulas of torch.optim.

These functions have no state, so a resumed training needs the step alone.
"""
