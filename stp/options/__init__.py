"""The options of the stages: dataclasses that recipes set, with their defaults and checks.

The plan builds recipes from these options, and the code of the stages reads them; so they have a
package of their own. This package does not import torch.
"""
