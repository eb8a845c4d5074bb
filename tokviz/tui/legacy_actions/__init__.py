"""Everything the user can do, by name: one module per screen."""
