"""Which of SQL Server's drivers can be loaded here: each needs a library of the system, which `make test` does not install."""

import ctypes.util

import pytest

try:
    import pyodbc  # noqa: F401
except ImportError as error:
    _REFUSED = str(error)
else:
    _REFUSED = ""

needs_unixodbc = pytest.mark.skipif(bool(_REFUSED), reason=f"pyodbc needs unixODBC, which make test does not install: {_REFUSED}")
needs_libltdl = pytest.mark.skipif(
    ctypes.util.find_library("ltdl") is None, reason="the driver of mssql-python needs libltdl, which make test does not install"
)
