"""Alembic's environment on PostgreSQL: dmsjournal/environment.py."""

from dmsjournal.environment import run

run("postgres")
