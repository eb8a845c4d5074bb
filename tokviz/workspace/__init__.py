"""State of the app between screens and runs: session, settings, prices, recovery and error log."""
