"""Text with its tokens, exact under edits."""

from tokviz.live.document import LiveDocument

__all__ = ["LiveDocument"]
