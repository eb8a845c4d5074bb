"""Work in a child process that can be limited, canceled and killed.

The jobs are in `tokviz.process.jobs`, which only the child imports, so any part of the core can
request them.
"""
