"""Looking things up in a vocabulary: an index of its tokens, a search language, relations."""
