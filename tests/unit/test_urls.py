"""URLs of several servers, and of options that are given twice: what SQLAlchemy and libpq take (acceptance 83)."""

import pytest
import sqlalchemy as sa

import dmsjournal as dj
from dmsjournal.database import postgres, urls
from dmsjournal.database.connect import checked_url, engine_for
from dmsjournal.deliver.formats import format_of_database
from dmsjournal.events.cdc import source_of

TWO = [("a", 5432), ("b", 5433)]


@pytest.mark.acceptance("83")
@pytest.mark.parametrize(
    ("address", "servers"),
    [
        ("postgresql+psycopg://u:p@a:5432,b:5433/x", TWO),  # libpq's
        ("postgresql+psycopg://u:p@/x?host=a:5432&host=b:5433", TWO),  # SQLAlchemy's
        ("postgresql+psycopg://u:p@/x?host=a,b&port=5432,5433", TWO),
        ("postgresql+psycopg://u:p@a,b:5433/x", [("a", None), ("b", 5433)]),
        ("postgresql+psycopg://u:p@a,b/x", [("a", None), ("b", None)]),
        ("postgresql+psycopg://u:p@a:5432/x", TWO[:1]),
        ("postgresql+psycopg://u:p@[::1]:5432/x", [("::1", 5432)]),
        ("postgresql+psycopg:///x?host=/run/postgresql", [("/run/postgresql", None)]),
        ("postgresql+psycopg:///x", []),
    ],
)
def test_the_servers_of_a_url_are_those_that_the_driver_is_given(address: str, servers: list[tuple[str, int | None]]) -> None:
    checked = checked_url(address)
    assert urls.hosts_of(checked) == servers
    engine = engine_for(address)
    _, given = engine.dialect.create_connect_args(checked)
    assert given.get("host", "") == ",".join(host for host, _ in servers)
    ports = [str(port or "") for _, port in servers]
    assert str(given.get("port", "")) == ",".join(ports) or set(ports) == {""}


def connected(address: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What psycopg is asked for."""
    import psycopg

    asked: dict[str, object] = {}

    class Connection:
        @staticmethod
        def connect(*_: object, **given: object) -> None:
            asked.update(given)
            raise psycopg.OperationalError("no")

    engine = engine_for(address, seconds=7)
    monkeypatch.setattr(postgres, "_connection_type", lambda: Connection)
    with pytest.raises(sa.exc.OperationalError):
        engine.connect()
    return asked


@pytest.mark.acceptance("83")
def test_several_hosts_and_repeated_options_reach_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option of the URL counts before ours, and of two the last one."""
    url = "postgresql+psycopg://u:p@/x?host=a:5432&host=b:5433&sslmode=disable&sslmode=require&target_session_attrs=primary"
    asked = connected(url + "&application_name=nightly&connect_timeout=3", monkeypatch)
    assert (asked["host"], asked["port"]) == ("a,b", "5432,5433")
    assert asked["sslmode"] == "require"
    assert asked["target_session_attrs"] == "primary"
    assert asked["application_name"] == "nightly"
    assert asked["connect_timeout"] == "3"
    assert "options" not in asked
    assert connected("postgresql+psycopg://u:p@a/x", monkeypatch)["connect_timeout"] == "7"


def test_hosts_and_ports_that_do_not_fit_are_refused() -> None:
    for query in ("host=a&host=b&port=1&port=2", "host=a,b,c&port=1,2", "host=a,b&port=1,x"):
        with pytest.raises(dj.InvalidRequest, match="its hosts and ports do not fit together") as refused:
            dj.connect(f"postgresql+psycopg://u:S3CRET@/x?{query}")
        assert "S3CRET" not in str(refused.value)


def test_spark_is_told_of_several_hosts() -> None:
    for attrs, said in (("primary", "primary"), ("read-write", "primary"), ("standby", "secondary")):
        url = checked_url(f"postgresql+psycopg://u:p@a:5432,b:5433/x?target_session_attrs={attrs}&sslmode=require")
        address = postgres.jdbc_options(url)["url"]
        assert address.startswith("jdbc:postgresql://a:5432,b:5433/x?")
        assert f"targetServerType={said}" in address
        assert "sslmode=require" in address


def test_the_source_of_events_names_all_hosts() -> None:
    url = "postgresql+psycopg://u:p@/x?host=a:5432&host=b:5433"
    assert (source_of(url).host, source_of(url).instance) == ("a,b", "a:5432,b:5433")
    assert format_of_database("jsonl", url)
