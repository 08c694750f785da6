"""Descriptions of keys of the configuration, from the docstrings of their classes.

The descriptions are shown in messages, on the page of all keys and, through JSON schemas, in
editors.
"""

import inspect
import re
from functools import cache

_ATTRIBUTE = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", re.M)


@cache
def descriptions(kind: type) -> dict[str, str]:
    """Descriptions of the attributes of a class and its bases, by name."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        docstring = inspect.cleandoc(base.__dict__.get("__doc__") or "")
        _, _, attributes = docstring.partition("Attributes:\n")
        for names, text in _ATTRIBUTE.findall(attributes.partition("\n\n")[0]):
            texts |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return texts


def summary(kind: type) -> str:
    """The first paragraph of the docstring of a class, in one line."""
    docstring = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    return " ".join(docstring.partition("\n\n")[0].split())
