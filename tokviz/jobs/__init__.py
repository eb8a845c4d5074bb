"""Work in a child process that can be limited, cancelled and killed."""
