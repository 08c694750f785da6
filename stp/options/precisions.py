"""The precisions that networks can compute in; apart, so that a plan can check it without torch."""

PRECISIONS = ("bf16", "float32")
"""bf16: mixed precision where the device computes it; float32: everywhere."""
