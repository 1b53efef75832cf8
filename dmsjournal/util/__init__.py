"""What knows no word of the domain: files, JSON, durations, addresses."""
