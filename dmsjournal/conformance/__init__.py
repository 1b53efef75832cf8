"""The conformance suite of feeds: the same cases against every provider, as a pytest plugin.

`pytest --pyargs dmsjournal.conformance` runs it on what is at hand here. Another package runs it on its own provider with
`--feed-harness package.module:Harness`; what that must do is dmsjournal.conformance.harness.Harness. Source: docs/python/feed.md.
"""
