"""The options of the stages: dataclasses that recipes set, with their defaults and checks.

The plan builds recipes from these options and the cores read them, so that they are in neither
package. They import no torch.
"""
