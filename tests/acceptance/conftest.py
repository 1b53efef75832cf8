from collections.abc import Iterator

import pytest
import sqlalchemy as sa


@pytest.fixture
def connection(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.connect() as connection:
        yield connection
