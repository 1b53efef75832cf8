"""Pages of a window, the iterators over them, derived versions, plans and streams."""
