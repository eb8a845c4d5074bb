"""The jobs: work for a child process (see `tokviz.child`), one file per job."""
