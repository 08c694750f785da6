"""What leaves the project: submission bundles, citations."""
