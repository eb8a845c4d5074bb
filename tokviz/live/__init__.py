"""Text with its tokens, exact under edits."""
