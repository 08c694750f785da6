"""Format durations and sizes as text."""


def duration(seconds: float) -> str:
    """Format a duration in seconds: ``42 s``, ``3:07 min``, ``5:20 h``, ``12 d 3 h``."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60}:{seconds % 60:02d} min"
    if seconds < 172800:
        return f"{seconds // 3600}:{seconds % 3600 // 60:02d} h"
    return f"{seconds // 86400} d {seconds % 86400 // 3600} h"


def size_text(size: float) -> str:
    """Format a size in bytes: ``512 B``, ``3.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
