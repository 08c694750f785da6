"""Opinions of people about videos, and measures that predict them."""
