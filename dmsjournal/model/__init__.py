"""Values without input or output: resources, documents, versions, windows and cursors."""
