"""What Alembic runs: migrations, options, adoption, and how the installed schema differs from the shipped one."""
