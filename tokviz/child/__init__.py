"""Work in a child process that can be limited, cancelled and killed.

What the work is stands in `tokviz.jobs`, which is imported in the child only; so any part of the
core may ask for a job.
"""
