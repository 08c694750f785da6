"""Keeping freed memory for the next allocation."""

import contextlib
import ctypes


def keep_freed_memory() -> None:
    """Let glibc keep memory that was freed, instead of handing it back and asking again.

    Networks free and allocate the same large blocks in every step; each time the kernel clears
    the pages. Keeping them makes a training step of SimVPv2 on a CPU 2.5 times as fast.
    """
    m_trim_threshold, m_mmap_max = -1, -4  # malloc.h
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(m_mmap_max, 0)
        libc.mallopt(m_trim_threshold, 2**31 - 1)
