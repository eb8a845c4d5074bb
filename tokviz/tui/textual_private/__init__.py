"""Workarounds that need private names of Textual, one module per reason.

Each module's docstring states the upstream problem that it waits for. Its test in
`tests/tui/textual_private` reproduces that problem with Textual alone, so the test fails as soon as
the workaround can be deleted.
"""
