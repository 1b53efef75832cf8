"""Harness of DynamoDB: tables on moto's server, in this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from typing import Any
from uuid import uuid4

from dmsjournal.feed import FeedProvider, dynamodb
from dmsjournal.testing.conformance.harness import NotHere, unable

_KEYS = {"region_name": "us-east-1", "aws_access_key_id": "testing", "aws_secret_access_key": "testing"}


class TableSource:
    """An empty table with a stream of new and old images."""

    def __init__(self, endpoint: str, table: str) -> None:
        import boto3

        self._url = f"dynamodb://{table}?endpoint_url={endpoint}"
        self._table: Any = boto3.resource("dynamodb", endpoint_url=endpoint, **_KEYS).Table(table)
        self.provider: FeedProvider = dynamodb.connect(self._url, **_KEYS)

    def another(self) -> AbstractContextManager[FeedProvider]:
        """Another feed of the same table."""
        return nullcontext(dynamodb.connect(self._url, **_KEYS))

    def create(self, number: int, body: Mapping[str, object]) -> None:
        """Puts an item."""
        self._table.put_item(Item={"number": number, **body})

    update = create

    def delete(self, number: int) -> None:
        """Deletes it."""
        self._table.delete_item(Key={"number": number})

    def update_as(self, number: int, body: Mapping[str, object], user: str) -> None:
        """A stream has nothing to say it with."""
        raise unable("a change's context")

    def rename_with_referrer(self, number: int, referrer: int) -> None:
        """A key of an item never changes."""
        raise unable("a changed key")

    def number_of(self, key_values: Mapping[str, object]) -> int:
        """Its key."""
        return int(str(key_values["number"]))

    def expire(self) -> None:
        """Lets more than 24 hours go by on the provider's clock. It is put back when the case ends."""
        late = dynamodb._now() + timedelta(hours=25)
        dynamodb._now = lambda: late

    def restore_earlier(self) -> None:
        """A table that is restored is another one, with another stream."""
        raise unable("a restored table")

    def change_partitions(self, count: int) -> None:
        """Shards come and go as AWS sees fit."""
        raise unable("a changed number of shards")


class DynamoDB:
    """Tables on moto's server."""

    name = "dynamodb"

    def __enter__(self) -> DynamoDB:
        try:
            from moto.server import ThreadedMotoServer
        except ModuleNotFoundError as error:
            raise NotHere(f"no moto ({error}): pip install 'moto[server]' boto3") from error
        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self._endpoint = f"http://{host}:{port}"
        return self

    def __exit__(self, *error: object) -> None:
        self._server.stop()

    @contextmanager
    def source(self) -> Iterator[TableSource]:
        """A table of its own."""
        import boto3

        clock, name = dynamodb._now, f"conformance-{uuid4().hex[:12]}"
        tables: Any = boto3.client("dynamodb", endpoint_url=self._endpoint, **_KEYS)
        tables.create_table(
            TableName=name,
            KeySchema=[{"AttributeName": "number", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "number", "AttributeType": "N"}],
            BillingMode="PAY_PER_REQUEST",
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
        try:
            yield TableSource(self._endpoint, name)
        finally:
            dynamodb._now = clock
            tables.delete_table(TableName=name)
