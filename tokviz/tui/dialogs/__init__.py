"""The dialogs of the app. Each one is imported only when it is first opened."""
