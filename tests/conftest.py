"""Loads the fixtures that all tests share."""

pytest_plugins = ["tests.support.fixtures", "cykafka.testing.fixtures"]
