"""Everything said about a token or a piece: what it is, how it was made, why it is not one."""
