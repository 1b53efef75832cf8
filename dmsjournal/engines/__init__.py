"""What differs between database engines outside SQL: drivers, URLs and errors. One module an engine, the same functions in each."""
