from collections.abc import Iterator

import pytest

from dmsjournal.schema import migrate

from .races import Race

OPTIONS = ["max_dep_identity_version", "partitions"]
WITH_OPTIONS = {"test_edge_races", "test_mix", "test_writers"}  # modules whose races are run with each option as well
WITHOUT = {
    "max_dep_identity_version": {  # what commits a rename while the parent is locked waits then: see test_stored_maximum.py
        "test_an_edge_dropped_after_the_child_was_renamed_by_another_session",
    },
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    if "race" in metafunc.fixturenames and module in WITH_OPTIONS:
        options = [option for option in OPTIONS if metafunc.function.__name__ not in WITHOUT.get(option, ())]
        metafunc.parametrize("race", ["journal", *options], indirect=True)


@pytest.fixture
def race(url: str, request: pytest.FixtureRequest) -> Iterator[Race]:
    option = getattr(request, "param", "journal")
    if option != "journal":
        migrate.upgrade(url, options=[option])
    race = Race(url)
    if option == "partitions":
        race.journal.partitions.ensure(versions=20, ahead=5)
    yield race
    race.close()
