"""Figures that are drawn from scores: a module for each kind; see `stp.render.figures.kinds`."""
