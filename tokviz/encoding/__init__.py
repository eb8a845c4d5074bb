"""How the bytes of one piece become tokens: the two kinds of byte pair encoding."""
