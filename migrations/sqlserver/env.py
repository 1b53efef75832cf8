"""Alembic's environment on SQL Server: dmsjournal/schema/environment.py."""

from dmsjournal.schema.environment import run

run("sqlserver")
