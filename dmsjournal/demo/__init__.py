"""The demo: its story, and the school district that it makes."""
