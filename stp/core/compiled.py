"""Numerical loops that Numba compiles at their first call."""

import hashlib
from collections.abc import Callable
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

FASTMATH = ("contract", "reassoc")
"""Numba may fuse products with sums and reorder sums, but keeps NaN and infinity intact."""

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """Decorate a numerical loop, so that Numba compiles it at its first call.

    The compiled loop runs without the GIL. Machine code is stored for other processes, in
    NUMBA_CACHE_DIR or beside the source. If it cannot be stored, each process compiles the loop
    again.

    Args:
        loop: a function of contiguous arrays, numbers and tuples of numbers. It may use NumPy and
            numerical constants of its module, but no other function.

    Returns:
        a function with the arguments and the result of ``loop``.
    """

    @cache
    def machine_code(kinds: tuple[Any, ...]) -> Any:
        import numba  # takes half a second

        options: dict[str, Any] = {
            "nogil": True,
            "fastmath": set(FASTMATH),
            "error_model": "numpy",  # a division by 0 has a result
        }
        types = tuple(map(_type, kinds))
        copy = FunctionType(loop.__code__, loop.__globals__, loop.__name__)
        copy.__module__ = loop.__module__
        # Part of the name of the cache file: processes whose code, constants, types or processor
        # differ do not overwrite each other's file.
        copy.__qualname__ = f"{loop.__qualname__}-{_identity(loop, types)}"
        try:
            return numba.njit(types, cache=True, **options)(copy)
        except Exception:  # no writable folder, a full disk, a damaged file
            return numba.njit(types, **options)(copy)

    @wraps(loop)
    def call(*args: Any) -> Any:
        return machine_code(tuple(map(_kind, args)))(*args)

    return call  # type: ignore[return-value]


def _kind(value: Any) -> Any:
    """Describe an argument: an array by dtype and ndim, a number or a tuple by its type."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim
    return tuple(map(type, value)) if isinstance(value, tuple) else type(value)


def _type(kind: Any) -> Any:
    """Numba's type for a kind; arrays are typed as read-only, which accepts writable arrays too."""
    import numba

    if not isinstance(kind, tuple):
        return numba.typeof(kind())
    if isinstance(kind[0], np.dtype):
        return numba.types.Array(numba.from_dtype(kind[0]), kind[1], "C", readonly=True)
    return numba.typeof(tuple(part() for part in kind))


def _identity(loop: Any, types: tuple[Any, ...]) -> str:
    """Hash of a loop's code and constants, the types of its arguments, and the processor."""
    from llvmlite import binding

    code = loop.__code__
    values = [(name, loop.__globals__.get(name)) for name in code.co_names]
    numbers = [(name, value) for name, value in values if isinstance(value, int | float)]
    processor = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    made_from = (code.co_code, code.co_consts, code.co_names, numbers, FASTMATH, types, processor)
    return hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]
