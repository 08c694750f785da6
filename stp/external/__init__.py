"""Models that live elsewhere: windows go out, predictions come in."""
