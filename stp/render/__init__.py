"""Collected rows -> tables for people."""
