"""What a model costs: parameters, multiply-adds, memory, and speed on this machine.

`stp profile` and the tables of model sizes and speeds are made of it.
"""
