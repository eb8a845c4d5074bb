"""Terminal input and output: keys, pastes, frames, and restoring the terminal at the end.

The modules that run before the app's first frame (`watcher`, `stdin`, `modes`) import neither
Textual nor Rich.
"""
