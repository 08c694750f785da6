"""Learning rates as functions of the step, one file each.

They have no state: a resumed training only has to know the step. Formulas are those of
torch.optim.lr_scheduler.
"""
