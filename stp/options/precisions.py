"""Names of the numerical precisions of networks: ``bf16`` and ``float32``; needs no torch."""

from typing import Literal

Precision = Literal["bf16", "float32"]
"""bf16: mixed precision if the device supports it, otherwise float32; float32: full precision."""
