"""The journals, by the names of their tables."""

JOURNALS = ("DocumentChangeEvent", "IdentityChangeEvent", "KeyChangeEvent", "DocumentDeleteEvent")

IMAGES = "DocumentImage"  # what option images keeps beside them: a prune that names it deletes images whose events stay
