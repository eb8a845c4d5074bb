"""The border to the terminal: keys and pastes in, frames out, everything restored at the end.

The modules that run before the app's first frame (`watcher`, `stdin`, `modes`) import neither
Textual nor Rich.
"""
