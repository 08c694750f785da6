"""The precisions that networks can compute in, in a module that a plan can read without torch."""

from typing import Literal

Precision = Literal["bf16", "float32"]
"""bf16: mixed precision where the device supports it, else float32; float32: full precision."""
