"""Reading the journal with Apache Spark: `pip install dmsjournal[spark]`. `import dmsjournal` never imports pyspark."""
