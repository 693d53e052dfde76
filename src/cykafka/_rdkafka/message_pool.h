/* Memory of produced messages; see message_pool.c. Called without the GIL, by any thread. */
#ifndef CYKAFKA_MESSAGE_POOL_H
#define CYKAFKA_MESSAGE_POOL_H

/* Once, before the first client is made. Returns 0, or -1 if there is no memory. */
int cyk_message_pool_install(void);
/* Around fork(): a child shall not inherit the lock from a thread that it does not have. */
void cyk_message_pool_lock(void);
void cyk_message_pool_unlock(void);
/* A producer was made, or destroyed. */
void cyk_message_pool_enter(void);
void cyk_message_pool_leave(void);

#endif
