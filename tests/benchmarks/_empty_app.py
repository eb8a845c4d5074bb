"""The smallest Textual app: what a first frame costs before any code of ours."""

from __future__ import annotations

from textual.app import App

if __name__ == "__main__":
    App[None]().run()
