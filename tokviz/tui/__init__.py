"""The Textual app: screens, widgets and dialogs."""
