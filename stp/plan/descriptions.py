"""What keys of the configuration mean: the attributes in the docstrings of their classes.

Messages, the page of all keys and the JSON schemas of editors have their words from here.
"""

import inspect
import re
from functools import cache

_ATTRIBUTE = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", re.M)


@cache
def descriptions(kind: type) -> dict[str, str]:
    """What the attributes of a class mean, those of its bases included, by their names."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        said = inspect.cleandoc(one.__dict__.get("__doc__") or "")
        _, _, attributes = said.partition("Attributes:\n")
        for names, text in _ATTRIBUTE.findall(attributes.partition("\n\n")[0]):
            found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found


def summary(kind: type) -> str:
    """The first paragraph of the docstring of a class, in one line."""
    said = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    return " ".join(said.partition("\n\n")[0].split())
