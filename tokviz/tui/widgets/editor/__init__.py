"""Editor that colors tokens in place.

`TokenEditor` is Textual's text area with its own document, wrapping, navigation and drawing, so
that the text is exact and a key takes the same time in 1 KB and in 10 MB.
"""

from tokviz.tui.widgets.editor.editor import TokenEditor

__all__ = ["TokenEditor"]
