"""The widgets of the app: each draws what it is told and speaks in messages."""
