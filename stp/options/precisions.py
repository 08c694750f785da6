"""The precisions that networks can compute in; apart, so that a plan can check it without torch."""

from typing import Literal

Precision = Literal["bf16", "float32"]
"""bf16: mixed precision where the device computes it; float32: everywhere."""
