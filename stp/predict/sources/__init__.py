"""Forecasts that are read instead of computed: one module for each source."""
