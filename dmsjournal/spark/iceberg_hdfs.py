"""Files of Iceberg tables on HDFS for pyiceberg, by the package deltalake, whose client needs neither Java nor libhdfs.

pyiceberg takes it by its property py-io-impl. Source: docs/how-it-works.md, Lakes.
"""

from __future__ import annotations

import pyarrow.fs
from pyiceberg.io.pyarrow import PyArrowFileIO

from dmsjournal.spark.stores import HDFS_SETTINGS, Store


class HdfsFileIO(PyArrowFileIO):
    """pyiceberg's files, of which those on HDFS go another way. Its properties may hold Hadoop's settings for HDFS."""

    def _initialize_hdfs_fs(self, scheme: str, netloc: str | None) -> pyarrow.fs.FileSystem:
        settings = {name: str(value) for name, value in self.properties.items() if name.startswith(HDFS_SETTINGS)}
        return Store(f"{scheme}://{netloc}/", settings).files()
