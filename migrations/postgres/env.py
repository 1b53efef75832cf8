"""Alembic's environment on PostgreSQL: dmsjournal/schema/environment.py."""

from dmsjournal.schema.environment import run

run("postgres")
