"""Files on disk: atomic writes, locks, JSON and TOML, folder listings and packaged assets."""
