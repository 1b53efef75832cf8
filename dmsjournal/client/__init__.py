"""A client of the HTTP service, for Python programs without a way to the database. Needs the extra `client`: httpx.

Source: docs/http/client.md.
"""

from dmsjournal.client.async_client import AsyncClient
from dmsjournal.client.client import Client
from dmsjournal.client.items import ListedDelete, ListedDocument, ListedKeyChange

__all__ = ["AsyncClient", "Client", "ListedDelete", "ListedDocument", "ListedKeyChange"]
