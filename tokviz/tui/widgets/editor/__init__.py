"""The editor that colours tokens in place.

`TokenEditor` is Textual's text area with its document, its wrapping, its navigation and its drawing
replaced, so that the text is exact and a key costs the same in 1 KB and in 10 MB.
"""

from tokviz.tui.widgets.editor.editor import TokenEditor

__all__ = ["TokenEditor"]
