/* Stands in for libsasl2 at link time and forwards to the system's library, which is loaded when Kerberos is chosen:
 * so one binary serves systems with and without it, and nobody else pays for loading it.
 *
 * The prototypes are those of sasl.h, whose binary interface has been stable since Cyrus SASL 2.1. */

#include "sasl_loader.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sasl/sasl.h>

#ifdef __APPLE__
static const char *const names[] = {"libsasl2.2.dylib", "/usr/lib/libsasl2.2.dylib", "libsasl2.3.dylib", NULL};
#else
static const char *const names[] = {"libsasl2.so.3", "libsasl2.so.2", NULL};
#endif

static const char install[] =
    "install Cyrus SASL and its GSSAPI plugin (Debian, Ubuntu: libsasl2-modules-gssapi-mit; Fedora, RHEL: "
    "cyrus-sasl-gssapi; Alpine: cyrus-sasl cyrus-sasl-gssapiv2)";

#define FUNCTIONS(each)                                                                                                \
    each(sasl_client_init) each(sasl_client_new) each(sasl_client_start) each(sasl_client_step) each(sasl_dispose)     \
        each(sasl_errdetail) each(sasl_errstring) each(sasl_getprop) each(sasl_global_listmech) each(sasl_listmech)

static struct {
#define POINTER(name) __typeof__(&name) name;
    FUNCTIONS(POINTER)
} loaded;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;

static void *open_library(char *error, size_t size) {
    const char *given = getenv("CYKAFKA_LIBSASL2");
    const char *const one[] = {given, NULL};
    const char *const *name = given && *given ? one : names;
    void *library = NULL;
    char reason[256] = "";
    for (; *name && !library; name++) {
        library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
        /* Of several reasons the first counts: it is about the usual name. */
        if (!library && !*reason)
            snprintf(reason, sizeof(reason), "%s", dlerror());
    }
    if (!library)
        snprintf(error, size, "GSSAPI (Kerberos) needs the system's Cyrus SASL library, which cannot be loaded (%s): %s",
                 reason, install);
    return library;
}

/* Tells whether one of the library's plugins brings the mechanism. */
static int has_gssapi(void) {
    const char **mechanism = loaded.sasl_global_listmech();
    for (; mechanism && *mechanism; mechanism++)
        if (!strcmp(*mechanism, "GSSAPI"))
            return 1;
    return 0;
}

static int load(char *error, size_t size) {
    void *library = open_library(error, size);
    int result;
    if (!library)
        return -1;
#define RESOLVE(name)                                                                                                  \
    if (!(*(void **)&loaded.name = dlsym(library, #name))) {                                                           \
        snprintf(error, size, "GSSAPI (Kerberos) needs Cyrus SASL 2.1: the library found lacks %s; %s", #name, install); \
        memset(&loaded, 0, sizeof(loaded));                                                                            \
        dlclose(library);                                                                                              \
        return -1;                                                                                                     \
    }
    FUNCTIONS(RESOLVE)
    result = loaded.sasl_client_init(NULL);
    if (result != SASL_OK) {
        snprintf(error, size, "GSSAPI (Kerberos): the Cyrus SASL library does not start: %s",
                 loaded.sasl_errstring(result, NULL, NULL));
        return -1;
    }
    if (!has_gssapi()) {
        snprintf(error, size, "GSSAPI (Kerberos): the system's Cyrus SASL library has no GSSAPI plugin: %s", install);
        return -1;
    }
    return 0;
}

int cyk_sasl_load(char *error, size_t size) {
    pthread_mutex_lock(&lock);
    if (!ready)
        ready = load(error, size) == 0;
    pthread_mutex_unlock(&lock);
    return ready ? 0 : -1;
}

/* librdkafka starts the library with its first client, of whatever kind: here that waits until Kerberos is chosen. */
int sasl_client_init(const sasl_callback_t *callbacks) {
    (void)callbacks;
    return SASL_OK;
}

int sasl_client_new(const char *service, const char *host, const char *local, const char *remote,
                    const sasl_callback_t *callbacks, unsigned flags, sasl_conn_t **connection) {
    char error[512];
    if (cyk_sasl_load(error, sizeof(error)) == -1)
        return SASL_NOMECH;
    return loaded.sasl_client_new(service, host, local, remote, callbacks, flags, connection);
}

int sasl_client_start(sasl_conn_t *connection, const char *mechanisms, sasl_interact_t **prompt, const char **out,
                      unsigned *size, const char **mechanism) {
    return loaded.sasl_client_start(connection, mechanisms, prompt, out, size, mechanism);
}

int sasl_client_step(sasl_conn_t *connection, const char *in, unsigned in_size, sasl_interact_t **prompt,
                     const char **out, unsigned *size) {
    return loaded.sasl_client_step(connection, in, in_size, prompt, out, size);
}

void sasl_dispose(sasl_conn_t **connection) {
    /* A connection that was never made is disposed of, too. */
    if (*connection)
        loaded.sasl_dispose(connection);
}

int sasl_getprop(sasl_conn_t *connection, int property, const void **value) {
    return loaded.sasl_getprop(connection, property, value);
}

int sasl_listmech(sasl_conn_t *connection, const char *user, const char *prefix, const char *separator,
                  const char *suffix, const char **result, unsigned *size, int *count) {
    return loaded.sasl_listmech(connection, user, prefix, separator, suffix, result, size, count);
}

const char *sasl_errstring(int result, const char *languages, const char **language) {
    return loaded.sasl_errstring ? loaded.sasl_errstring(result, languages, language)
                                 : "the Cyrus SASL library is not loaded";
}

const char *sasl_errdetail(sasl_conn_t *connection) {
    return loaded.sasl_errdetail ? loaded.sasl_errdetail(connection) : "the Cyrus SASL library is not loaded";
}
