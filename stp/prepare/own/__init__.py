"""Read users' own data of several kinds, described in a YAML file: docs/own_data.md."""
