"""The jobs: work for a child process (see `tokviz.process`), one file per job."""
