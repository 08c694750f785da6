"""The options of the stages (train, predict, score, ...), with their defaults and checks.

Each dataclass describes a part of a recipe, which holds all settings of one result of a stage.
The plan builds recipes from these options, and the code of the stages reads them; so they have a
package of their own. This package does not import torch.
"""
