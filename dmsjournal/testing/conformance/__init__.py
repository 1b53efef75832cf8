"""The conformance suite of feeds: the same cases against every provider, as a pytest plugin.

`pytest --pyargs dmsjournal.testing.conformance` runs it on what is at hand here. Another package runs it on its own provider: the
environment variable DMSJOURNAL_FEED_HARNESS names it, package.module:Harness, or several with blanks between them. What that
must do is dmsjournal.testing.conformance.harness.Harness. Source: docs/python/feed.md.
"""
