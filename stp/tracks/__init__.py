"""People who walk: tracks, scenarios, densities, and models that predict them."""
