"""Which fields differ between two JSON documents: what dmsjournal.model.differences has, under the name that programs import."""

from dmsjournal.model.differences import MISSING, Difference, Missing, differences, is_within, top_level

__all__ = ["MISSING", "Difference", "Missing", "differences", "is_within", "top_level"]
