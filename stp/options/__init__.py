"""The options of the stages: dataclasses that recipes set, with their defaults and checks.

The plan builds recipes from them and the cores read them, so they are here and not in either; they
import no torch.
"""
