"""The journals, by the names of their tables."""

JOURNALS = ("DocumentChangeEvent", "IdentityChangeEvent", "KeyChangeEvent", "DocumentDeleteEvent")
