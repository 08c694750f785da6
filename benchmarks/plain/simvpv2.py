"""SimVPv2 (gated attention)."""

from plain.simvp import Model, weights

__all__ = ["Model", "weights"]
