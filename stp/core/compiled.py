"""Loops over numbers that are compiled at their first call, by Numba."""

import hashlib
from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

FASTMATH = ("contract", "reassoc")
"""Products may be fused with sums, and sums be added in another order; NaN and infinity stay."""

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """Compile a function of arrays and numbers; it releases the interpreter's lock.

    Machine code is kept beside the source, or where NUMBA_CACHE_DIR says. Its file is named by all
    that it is made from: no process finds what another one has made from other code, constants,
    types or for another processor, not even while both write. Where it cannot be kept or read, each
    process compiles anew. Numba is imported by the first call, since it takes half a second.

    Args:
        loop: a function of contiguous arrays, numbers and tuples of numbers. It may use NumPy, and
            numbers that its module names, but no other function.
    """

    @cache
    def machine_code(kinds: tuple[Any, ...]) -> Any:
        import numba

        options: dict[str, Any] = {
            "nogil": True,
            "fastmath": set(FASTMATH),
            "error_model": "numpy",  # a division by 0 has a result
        }
        types = tuple(map(_type, kinds))
        named = FunctionType(loop.__code__, loop.__globals__, loop.__name__)
        named.__module__ = loop.__module__
        named.__qualname__ = f"{loop.__qualname__}-{_identity(loop, types)}"
        try:
            return numba.njit(types, cache=True, **options)(named)
        except Exception:  # no place for it, a full disk, a damaged file
            return numba.njit(types, **options)(named)

    @wraps(loop)
    def call(*args: Any) -> Any:
        return machine_code(tuple(map(_kind, args)))(*args)

    return call  # type: ignore[return-value]


def _kind(value: Any) -> Any:
    """What machine code depends on: element type and dimensions of an array, type of a number."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim
    return tuple(map(type, value)) if isinstance(value, tuple) else type(value)


def _type(kind: Any) -> Any:
    """Numba's type for a kind; arrays are read-only, as which it accepts all."""
    import numba

    if not isinstance(kind, tuple):
        return numba.typeof(kind())
    if isinstance(kind[0], np.dtype):
        return numba.types.Array(numba.from_dtype(kind[0]), kind[1], "C", readonly=True)
    return numba.typeof(tuple(one() for one in kind))


def _identity(loop: Any, types: tuple[Any, ...]) -> str:
    """Digest of what machine code is made from."""
    from llvmlite import binding

    code = loop.__code__
    values = [(name, loop.__globals__.get(name)) for name in code.co_names]
    numbers = [(name, value) for name, value in values if isinstance(value, int | float)]
    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    made_from = (code.co_code, code.co_consts, code.co_names, numbers, FASTMATH, types, processor)
    return hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]
