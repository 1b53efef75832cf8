"""The command for a server of one's own: `python -m dmsjournal.testing.prove`."""

import pytest

from dmsjournal.testing import prove
from tests.conftest import ENGINES


def server_of(engine: str, request: pytest.FixtureRequest) -> str:
    server = request.getfixturevalue(f"{engine}_server")
    return str(server.embedded.url() if engine == "postgres" else server.alone())


@pytest.mark.parametrize("engine", ENGINES)
def test_all_of_it_holds_and_nothing_is_left(engine: str, request: pytest.FixtureRequest, capsys) -> None:
    url = server_of(engine, request)
    assert prove.main([url, "--seconds", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        *("holds: install", "holds: stamps", "holds: races", "holds: a writer's session that is killed"),
        *("holds: prune", "holds: verify", "holds: uninstall"),
    ]
    assert databases(url) == []


def test_what_does_not_hold_is_told_and_nothing_is_left(request: pytest.FixtureRequest, capsys, monkeypatch) -> None:
    """A horizon that passes a writer under way: the race and the kill see it."""
    url = server_of("postgres", request)
    monkeypatch.setattr("dmsjournal.database.horizon.Horizon.read", passing)
    assert prove.main([url, "--seconds", "2"]) == 1
    assert "DOES NOT HOLD: a writer's session that is killed" in capsys.readouterr().out
    assert databases(url) == []


def passing(horizon, session, statement: str) -> int:
    return int(session.conn.exec_driver_sql("SELECT last_value FROM dms.ChangeVersionSequence").scalar_one())


def databases(url: str) -> list[str]:
    engine = prove.engine_for(url)
    catalog = "sys.databases" if url.startswith("mssql") else "(SELECT datname AS name FROM pg_database) AS databases"
    with engine.connect() as conn:
        found = conn.exec_driver_sql(f"SELECT name FROM {catalog}").scalars().all()
    engine.dispose()
    return [name for name in found if "prove" in name]
