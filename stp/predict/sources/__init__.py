"""Forecasts that are read instead of computed: a module for each origin."""
