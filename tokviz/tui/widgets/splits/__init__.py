"""The Splits panel."""
