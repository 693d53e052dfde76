"""What an installation tells of itself, and Kerberos on systems without the library it needs."""

import json
import os
import subprocess
import sys

import pytest

import cykafka
from cykafka import BuildInfo, Consumer, KafkaError, KafkaException, Producer, build_info
from cykafka.admin import AdminClient

pytestmark = pytest.mark.unit

GSSAPI = {"bootstrap.servers": "127.0.0.1:9", "security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"}


def test_the_build_names_versions_and_origins():
    info = build_info()
    assert isinstance(info, BuildInfo)
    assert info.version == cykafka.__version__
    assert info.librdkafka == cykafka.libversion()[0]
    assert set(info.features) == set(cykafka.builtin_features())
    assert info.module.is_file()
    assert [library.name for library in info.libraries] == ["librdkafka", "OpenSSL", "curl", "zstd", "zlib", "yyjson"]
    assert all(library.version[0].isdigit() for library in info.libraries)
    for library in info.libraries:
        if library.linking.value == "static":
            assert library.source != "system"
            assert len(library.sha256) == 64
            assert library.licence
    assert info.libraries[0].linking.value == info.libraries[-1].linking.value == "static"


def run(program, library):
    """Run a program in a Python of its own that is told which Cyrus SASL library to load; return what it printed."""
    environment = {**os.environ, "CYKAFKA_LIBSASL2": library, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAM = f"""
import json
from cykafka import Consumer, KafkaException, Producer, build_info
from cykafka.admin import AdminClient
answers = [build_info().kerberos_problem]
for client, more in ((Producer, {{}}), (Consumer, {{"group.id": "g"}}), (AdminClient, {{}})):
    try:
        client({{**{GSSAPI!r}, **more}})
    except KafkaException as error:
        answers.append([error.args[0].code(), error.args[0].str()])
Producer({{**{GSSAPI!r}, "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"}}).close(0)
Producer({{"bootstrap.servers": "127.0.0.1:9"}}).close(0)
print(json.dumps(answers))
"""


def test_without_the_sasl_library_gssapi_is_refused_by_one_sentence_and_all_else_works():
    problem, *refusals = json.loads(run(PROGRAM, "/nonexistent/libsasl2.so.3"))
    assert problem.startswith("GSSAPI (Kerberos) needs the system's Cyrus SASL library, which cannot be loaded (")
    assert "/nonexistent/libsasl2.so.3" in problem
    assert "libsasl2-modules-gssapi-mit" in problem
    assert refusals == [[KafkaError._INVALID_ARG, problem]] * 3


def test_a_library_that_is_not_sasl_is_named():
    (problem,) = json.loads(
        run("import cykafka, json; print(json.dumps([cykafka.build_info().kerberos_problem]))", "libc.so.6")
    )
    assert problem.startswith("GSSAPI (Kerberos) needs Cyrus SASL 2.1: the library found lacks sasl_client_init")


@pytest.mark.parametrize(("client", "more"), [(Producer, {}), (Consumer, {"group.id": "g"}), (AdminClient, {})])
def test_gssapi_can_be_chosen_where_the_library_is(client, more):
    if build_info().kerberos_problem:
        pytest.skip(f"needs Kerberos: {build_info().kerberos_problem}")
    # Getting so far as to miss the key file takes the library.
    with pytest.raises(KafkaException, match=r"sasl\.kerberos\.keytab"):
        client({**GSSAPI, **more})
    client({**GSSAPI, **more, "sasl.kerberos.min.time.before.relogin": 0}).close()
