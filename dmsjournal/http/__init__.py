"""The HTTP service: the journal and its feed for clients that speak nothing else. It needs the extra `http`.

Source: docs/http/serve.md.
"""

from dmsjournal.http.app import create_app
from dmsjournal.http.settings import Settings

__all__ = ["Settings", "create_app"]
