#ifndef CYKAFKA_SASL_LOADER_H
#define CYKAFKA_SASL_LOADER_H

#include <stddef.h>

/* Loads the system's Cyrus SASL library for Kerberos (GSSAPI), once; any thread may call it.
 * Returns 0, or -1 with a sentence for the user in error. CYKAFKA_LIBSASL2 names another file to load. */
int cyk_sasl_load(char *error, size_t size);

#endif
