"""Counting the pre-tokens of a corpus by the workers of a Dask cluster, with the same result."""
