"""The Splits panel and what it says."""
