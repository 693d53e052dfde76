# Secrets: which properties are, and what their values may look like in a text. Pure data; any thread.

import base64 as _base64
from urllib.parse import quote as _quote

# A shorter text is part of ordinary words, and is left alone.
_SHORTEST_SECRET = 6
# A line of a PEM file is a secret of its own.
_SHORTEST_PEM_LINE = 32
_SECRET_ENDINGS = ("password", "passphrase", "secret", ".key.pem", "sasl.oauthbearer.config")


cdef list secrets_in(str name, str text):
    """Return the forms of what is secret in a property's value."""
    if name.endswith(_SECRET_ENDINGS):
        return secret_forms(text)
    if name.endswith(".url") and "@" in text:
        return secret_forms(text.partition("@")[0].rpartition(":")[2])
    return []


cdef list secret_forms(str text):
    """Return the forms in which a secret may turn up: as it is, in base64, in an URL; for a PEM, its lines."""
    cdef set forms
    if len(text) < _SHORTEST_SECRET:
        return []
    if "-----BEGIN" in text:
        forms = {line.strip() for line in text.splitlines() if "-----" not in line}
        return [form.encode() for form in forms if len(form) >= _SHORTEST_PEM_LINE]
    data = text.encode("utf-8", "surrogateescape")
    forms = {data, _base64.b64encode(data), _base64.urlsafe_b64encode(data).rstrip(b"="), _quote(data).encode()}
    # The longest first: one may be the beginning of another.
    return sorted(forms, key=len, reverse=True)
