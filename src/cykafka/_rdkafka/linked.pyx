# What the module is made of, for cykafka.build_info(). Any thread may call these; they own nothing.


cdef extern from "linked.h" nogil:
    const char *cyk_openssl_version()
    const char *cyk_curl_version()
    const char *cyk_zstd_version()
    const char *cyk_zlib_version()
    const char *cyk_yyjson_version()
    const char *cyk_compiler()
    const char *cyk_linked_record()


def linked_versions():
    """Return the libraries that the module is linked with: name to the version that the library itself tells."""
    return {
        "librdkafka": decode_text(rd_kafka_version_str()),
        "OpenSSL": decode_text(cyk_openssl_version()),
        "curl": decode_text(cyk_curl_version()),
        "zstd": decode_text(cyk_zstd_version()),
        "zlib": decode_text(cyk_zlib_version()),
        "yyjson": decode_text(cyk_yyjson_version()),
    }


def linked_record():
    """Return JSON: where the statically linked libraries come from, an empty list if they are the system's."""
    return decode_text(cyk_linked_record())


def compiler_version():
    """Return the compiler that made the module."""
    return decode_text(cyk_compiler())


def kerberos_problem():
    """Return a sentence that tells why Kerberos (GSSAPI) cannot be used on this system, None if it can.

    Loads the system's Cyrus SASL library, as the first client with ``sasl.mechanism=GSSAPI`` does.
    """
    cdef char reason[512]
    cdef int result
    with nogil:
        result = cyk_sasl_load(reason, sizeof(reason))
    return None if result == 0 else decode_text(reason)
