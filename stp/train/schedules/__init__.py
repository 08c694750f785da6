"""Learning rates as functions of the step, one file each, with the formulas of torch.optim.

They have no state, so a resumed training needs the step alone.
"""
