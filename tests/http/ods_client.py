"""A client of the Ed-Fi ODS API, version 7.3, that keeps a copy of some resources; it knows nothing of this service.

Written from what that API publishes: the version document, client credentials, snapshots, dependencies, change versions, and the
order in which a window is applied: key changes, then upserts, both in the order of the dependencies, then deletes in the reverse.
Documents are paged by cursors: the first request has no token, the others a `pageToken` with a `pageSize`. Deletes and key changes
have no cursors: they are paged by `limit` and `offset`, until a page is empty. The copy is kept by natural keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import httpx

Item = dict[str, Any]
Key = tuple[tuple[str, Any], ...]


class OdsClient:
    """`keys`: the natural key of each resource, as the names of values of its items or of the references in them."""

    def __init__(self, url: str, key: str, secret: str, keys: Mapping[str, tuple[str, ...]], page_size: int) -> None:
        self._http = httpx.Client(timeout=60)
        self._size, self._keys = page_size, keys
        self.version = self._http.get(url).raise_for_status().json()
        self._urls = self.version["urls"]
        answer = self._http.post(self._urls["oauth"], auth=(key, secret), data={"grant_type": "client_credentials"})
        self._http.headers["Authorization"] = f"Bearer {answer.raise_for_status().json()['access_token']}"
        self.is_isolated = self._has_snapshot()
        self.order = self._order()
        self.rows: dict[str, dict[Key, Item]] = {path: {} for path in self.order}
        self.through = -1

    def close(self) -> None:
        self._http.close()

    def synchronise(self) -> int:
        """Reads what changed since the last time, everything at first; returns the last version of the window."""
        newest = int(self._get(f"{self._urls['changeQueries']}availableChangeVersions").json()["newestChangeVersion"])
        if newest <= self.through:
            return newest
        if self.through < 0:
            for path in self.order:
                self._upsert(path, {})
        else:
            window = {"minChangeVersion": self.through + 1, "maxChangeVersion": newest}
            for path in self.order:
                self._change_keys(path, window)
            for path in self.order:
                self._upsert(path, window)
            for path in reversed(self.order):
                self._delete(path, window)
        self.through = newest
        return newest

    def dangling(self) -> list[str]:
        """The references of the copy that lead to no row of it: what another API would refuse to take."""
        known = {name: set(rows) for name, rows in self.rows.items()}
        return [
            f"{path}: {name} {reference}"
            for path, rows in self.rows.items()
            for item in rows.values()
            for name, reference in item.items()
            if name.endswith("Reference") and _key_of(reference, self._keys[_plural(name)]) not in known[_plural(name)]
        ]

    def _change_keys(self, path: str, window: Mapping[str, int]) -> None:
        for change in self._by_offset(f"{path}/keyChanges", window):
            row = self.rows[path].pop(_key_of(change["oldKeyValues"], self._keys[path]), None)
            if row is not None:
                self.rows[path][_key_of(change["newKeyValues"], self._keys[path])] = row

    def _upsert(self, path: str, window: Mapping[str, int]) -> None:
        for item in self._by_cursor(path, window):
            self.rows[path][_key_of(item, self._keys[path])] = item

    def _delete(self, path: str, window: Mapping[str, int]) -> None:
        for gone in self._by_offset(f"{path}/deletes", window):
            self.rows[path].pop(_key_of(gone["keyValues"], self._keys[path]), None)

    def _by_cursor(self, path: str, asked: Mapping[str, Any]) -> Iterator[Item]:
        answer = self._get(self._urls["dataManagementApi"] + f"ed-fi/{path}", asked)
        while True:
            yield from answer.json()
            token = answer.headers.get("Next-Page-Token")
            if not token:
                return
            answer = self._get(
                self._urls["dataManagementApi"] + f"ed-fi/{path}", {**asked, "pageToken": token, "pageSize": self._size}
            )

    def _by_offset(self, path: str, asked: Mapping[str, Any]) -> Iterator[Item]:
        offset = 0
        while True:
            page = {"Limit": self._size, "Offset": offset}
            found = self._get(self._urls["dataManagementApi"] + f"ed-fi/{path}", {**asked, **page}).json()
            if not found:
                return
            yield from found
            offset += self._size

    def _has_snapshot(self) -> bool:
        answer = self._http.get(f"{self._urls['changeQueries']}availableChangeVersions", headers={"Use-Snapshot": "true"})
        if answer.status_code == 404:
            return False
        answer.raise_for_status()
        self._http.headers["Use-Snapshot"] = "true"
        return True

    def _order(self) -> list[str]:
        """The paths of the resources, those first that others refer to."""
        told = self._http.get(self._urls["dependencies"]).raise_for_status().json()
        places = {item["resource"].removeprefix("/ed-fi/"): item["order"] for item in told}
        return sorted(self._keys, key=places.__getitem__)

    def _get(self, url: str, asked: Mapping[str, Any] | None = None) -> httpx.Response:
        return self._http.get(url, params=asked).raise_for_status()


def _key_of(item: Item, names: tuple[str, ...]) -> Key:
    """The natural key: values of the item, or of the references in it."""
    values = {name: of for reference in item.values() if isinstance(reference, dict) for name, of in reference.items()} | item
    return tuple((name, values[name]) for name in names)


def _plural(reference: str) -> str:
    return reference.removesuffix("Reference") + "s"
