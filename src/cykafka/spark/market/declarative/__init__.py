"""The market pipeline as Spark Declarative Pipelines: a specification and its definitions, a folder to copy."""
