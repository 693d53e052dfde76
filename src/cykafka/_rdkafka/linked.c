#include "linked.h"

#include <curl/curl.h>
#include <openssl/crypto.h>
#include <zlib.h>
#include <zstd.h>

#include "yyjson.h"

const char *cyk_openssl_version(void) {
        return OpenSSL_version(OPENSSL_VERSION_STRING);
}

const char *cyk_curl_version(void) {
        return curl_version_info(CURLVERSION_NOW)->version;
}

const char *cyk_zstd_version(void) {
        return ZSTD_versionString();
}

const char *cyk_zlib_version(void) {
        return zlibVersion();
}

const char *cyk_yyjson_version(void) {
        return YYJSON_VERSION_STRING;
}

const char *cyk_compiler(void) {
#ifdef __clang__
        return __VERSION__;
#elif defined(__GNUC__)
        return "GCC " __VERSION__;
#else
        return "unknown";
#endif
}

const char *cyk_linked_record(void) {
        return CYKAFKA_LINKED;
}
