"""Raw bytes: where they come from, how they are verified, and stand-ins that are generated."""
