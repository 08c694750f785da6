"""Figures that are drawn from scores: one module each, named in `stp.render.figures.kinds`."""
