"""Figures drawn from scores, one module for each kind (`stp.render.figures.kinds`)."""
