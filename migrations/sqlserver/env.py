"""Alembic's environment on SQL Server: dmsjournal/environment.py."""

from dmsjournal.environment import run

run("sqlserver")
