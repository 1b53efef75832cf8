from collections.abc import Iterator

import pytest

from .races import Race


@pytest.fixture
def race(url: str) -> Iterator[Race]:
    race = Race(url)
    yield race
    race.close()
