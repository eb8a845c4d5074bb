"""The Textual application: screens, widgets, dialogs and what they share."""
