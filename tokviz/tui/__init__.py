"""The Textual application: screens, widgets, dialogs and shared parts."""
