"""Loads the fixtures that all tests share."""

from importlib.metadata import entry_points

#: The package's own fixtures; where it is installed, pytest has loaded them already.
_OWN = "cykafka.testing.fixtures"
_installed = any(plugin.value == _OWN for plugin in entry_points(group="pytest11"))

pytest_plugins = ["tests.support.fixtures", *([] if _installed else [_OWN])]
