"""The app in a browser: a small server, and for each visitor a terminal with an app in it.

The page is xterm.js, so what runs is the app of every other terminal, on a pseudo-terminal. It ends
with it: when the page goes, when the server ends, and when the server is killed.
"""
