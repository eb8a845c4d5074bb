"""Version of tokviz, also written into the files that it saves."""

__version__ = "0.2.0"
