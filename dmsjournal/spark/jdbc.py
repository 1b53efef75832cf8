"""How Spark reaches the database of a SQLAlchemy URL: the driver, its URL and its properties."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import sqlalchemy as sa

from dmsjournal.connecting import checked_url
from dmsjournal.errors import UnsupportedCapability
from dmsjournal.statements import engine_name

FETCH_SIZE = 10_000  # rows a round trip; without it the driver reads a partition into memory as a whole

DRIVERS = {  # of each engine: its class, and its Maven coordinates
    "postgres": ("org.postgresql.Driver", "org.postgresql:postgresql:42.7.13"),
    "sqlserver": ("com.microsoft.sqlserver.jdbc.SQLServerDriver", "com.microsoft.sqlserver:mssql-jdbc:13.6.2.jre11"),
}

# The settings that a SQLAlchemy URL can end with, in the words of libpq and of ODBC, and the JDBC drivers' words for them.
SETTINGS = {
    "postgres": {
        "application_name": "ApplicationName",
        "connect_timeout": "connectTimeout",
        "options": "options",
        "sslcert": "sslcert",
        "sslkey": "sslkey",
        "sslmode": "sslmode",
        "sslrootcert": "sslrootcert",
    },
    "sqlserver": {
        "app": "applicationName",
        "applicationintent": "applicationIntent",
        "encrypt": "encrypt",
        "hostnameincertificate": "hostNameInCertificate",
        "multisubnetfailover": "multiSubnetFailover",
        "trustservercertificate": "trustServerCertificate",
    },
}
_TRUTHS = {"yes": "true", "no": "false", "mandatory": "true", "optional": "false"}  # ODBC's words


def engine_of(url: str | sa.URL) -> str:
    """The engine of a URL: postgres or sqlserver. Raises InvalidRequest."""
    return engine_name(checked_url(url).get_backend_name())


def jdbc_options(url: str | sa.URL) -> dict[str, str]:
    """Spark's JDBC options for the database of a SQLAlchemy URL; the password is one, which Spark's logs redact.

    Raises InvalidRequest, and UnsupportedCapability for a setting that the JDBC driver has no word for: to leave one
    about TLS out, say, would not be safe. Source: docs/how-it-works.md, Spark.
    """
    parsed = checked_url(url)
    engine = engine_name(parsed.get_backend_name())
    given = {name.lower(): str(value) for name, value in parsed.query.items()}
    if engine == "sqlserver":
        given.pop("driver", None)  # ODBC's
        given = {name: _TRUTHS.get(value.lower(), value) for name, value in given.items()}
    words = SETTINGS[engine]
    if unknown := given.keys() - words.keys():
        raise UnsupportedCapability(
            f"{', '.join(sorted(unknown))} in a URL for Spark", f"the settings it can pass on are {', '.join(words)}"
        )
    settings = {words[name]: value for name, value in given.items()}
    host = parsed.host or "localhost"
    host = f"[{host}]" if ":" in host else host  # an IPv6 address
    options: dict[str, str | None] = {
        "driver": DRIVERS[engine][0],
        "fetchsize": str(FETCH_SIZE),
        "user": parsed.username,
        "password": parsed.password,
    }
    if engine == "postgres":
        # in the URL, as Spark makes the names of options lower case where there are predicates, and the driver then knows them not
        settings = {"ApplicationName": "dmsjournal"} | settings
        database = quote(parsed.database or "", safe="")
        options["url"] = f"jdbc:postgresql://{host}:{parsed.port or 5432}/{database}?{urlencode(settings, quote_via=quote)}"
    else:
        options["url"] = f"jdbc:sqlserver://{host}" + (f":{parsed.port}" if parsed.port else "")
        options |= {"databaseName": parsed.database, "applicationName": "dmsjournal", **settings}
    return {name: value for name, value in options.items() if value is not None}
