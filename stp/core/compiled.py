"""Loops over numbers that are compiled at their first call, by Numba."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

Loop = TypeVar("Loop", bound=Callable[..., Any])


def compiled(loop: Loop) -> Loop:
    """Compile a function of arrays and numbers; it releases the interpreter's lock.

    Sums may be added in another order, and products fused with sums; NaN and infinity are kept. The
    machine code is kept beside the source, or where NUMBA_CACHE_DIR says; it is compiled anew in
    each process where neither can be written. Numba is imported by the first call, since it takes
    half a second.

    Args:
        loop: a function of a module. It may use constants that are written in its own file, but
            nothing that is imported except NumPy, and no other function: kept machine code is
            compiled anew when that file has changed, and not otherwise.
    """

    @cache
    def machine_code() -> Any:
        import numba

        options: dict[str, Any] = {
            "nogil": True,
            "fastmath": {"reassoc", "contract"},
            "error_model": "numpy",  # a division by 0 has a result
        }
        try:
            return numba.njit(cache=True, **options)(loop)
        except RuntimeError:  # there is no place for it
            return numba.njit(**options)(loop)

    @wraps(loop)
    def call(*args: Any) -> Any:
        return machine_code()(*args)

    return call  # type: ignore[return-value]
