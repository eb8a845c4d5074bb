"""Counting the pieces of a corpus by the workers of a Dask cluster, with the same result."""
