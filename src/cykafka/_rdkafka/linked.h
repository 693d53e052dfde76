/* What the module is linked with: each library is asked itself, so that a shared one tells its version of today. */
#ifndef CYKAFKA_LINKED_H
#define CYKAFKA_LINKED_H

const char *cyk_openssl_version(void);
const char *cyk_curl_version(void);
const char *cyk_zstd_version(void);
const char *cyk_zlib_version(void);
const char *cyk_yyjson_version(void);

/* The compiler that made this. */
const char *cyk_compiler(void);

/* JSON: where the statically linked libraries come from, [] if there are none. */
const char *cyk_linked_record(void);

#endif
