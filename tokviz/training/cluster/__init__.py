"""Counting the pre-tokens of a corpus on a Dask cluster, with the same result as locally."""
