"""The rows: every request that a broker of Kafka 4.3 answers, in the format that `_schema` describes."""
