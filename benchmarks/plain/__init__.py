"""The models as a reader of the papers would write them: what `benchmarks/train_step.py` beats.

One convolution per gate and time step, nothing computed ahead or together. Every module has
`Model(ours)`, an untrained network of the same sizes as one of `stp.models`, and
`weights(state)`, which makes a state dict of ours one of `Model`.
"""
