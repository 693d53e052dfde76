"""Helpers of the tests: real servers on free loopback ports, certificates, and their fixtures."""
