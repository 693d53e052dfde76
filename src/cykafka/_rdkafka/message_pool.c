/*
 * Memory of produced messages: kept for the next ones instead of going back to malloc(), which gives the pages of a
 * whole batch back to the system once it is acknowledged and then faults them in again, one by one.
 *
 * Every thread has two lists of free blocks for each size class; whole lists go to and come from a depot that all
 * threads share, so that a thread which only produces gets the blocks of one which only serves delivery reports.
 * The depot is bounded, gives back what was not used for a second, and is emptied when the last producer is closed.
 */
#include "message_pool.h"

#include "native_int.h"

/* AddressSanitizer shall see every message's own memory. */
#if defined(_WIN32) || defined(__SANITIZE_ADDRESS__)
int cyk_message_pool_install(void) {
        return 0;
}
void cyk_message_pool_lock(void) {
}
void cyk_message_pool_unlock(void) {
}
void cyk_message_pool_enter(void) {
}
void cyk_message_pool_leave(void) {
}
#else

/* What one message's memory may be rounded up by, and the classes there are: larger messages are rare. */
#define CLASS_BYTES  32
#define CLASSES      64
#define LIST_BLOCKS  128
/* A quarter of what a producer may queue by default (queue.buffering.max.kbytes). */
#define DEPOT_BYTES  (256 << 20)
/* Lists that nobody took for so long are given back. */
#define UNUSED_US    1000000
/* The class of memory that does not come back here. */
#define CLASS_LARGE  CLASSES

typedef struct block_s {
        struct block_s *next;
        uint32_t size_class;
        uint32_t blocks; /* of the first block of a list in the depot: how many it has */
} block_t;

_Static_assert(sizeof(block_t) % 16 == 0, "messages stay aligned as malloc() aligns them");

typedef struct list_s {
        block_t *first;
        uint32_t blocks;
} list_t;

typedef struct cache_s {
        list_t active[CLASSES];
        list_t spare[CLASSES];
        int registered;
} cache_t;

static _Thread_local cache_t cache;
static tss_t at_thread_end;

static struct {
        mtx_t lock;
        block_t *lists[CLASSES]; /* linked by next_list() */
        uint32_t count[CLASSES];
        uint32_t least[CLASSES]; /* the smallest count since trimmed_us */
        rd_ts_t trimmed_us;
        size_t bytes;
        int producers;
} depot;

/* Free memory of a list's first block: the next list of the depot. */
static block_t **next_list(block_t *first) {
        return (block_t **)(first + 1);
}

static size_t list_bytes(uint32_t size_class, uint32_t blocks) {
        return (size_t)blocks * (size_class + 1) * CLASS_BYTES;
}

static void free_list(block_t *block) {
        while (block) {
                block_t *next = block->next;
                free(block);
                block = next;
        }
}

static void free_lists(block_t *first) {
        while (first) {
                block_t *next = *next_list(first);
                free_list(first);
                first = next;
        }
}

/* Depot locked. */
static block_t *pop_list(uint32_t size_class) {
        block_t *first = depot.lists[size_class];

        if (first) {
                depot.lists[size_class] = *next_list(first);
                depot.bytes -= list_bytes(size_class, first->blocks);
                if (--depot.count[size_class] < depot.least[size_class])
                        depot.least[size_class] = depot.count[size_class];
        }
        return first;
}

/* Depot locked. Takes out what lay there unused since the last time; the caller frees it. */
static block_t *trim(rd_ts_t now) {
        block_t *unused = NULL;
        uint32_t size_class;

        for (size_class = 0; size_class < CLASSES; size_class++) {
                uint32_t many;
                for (many = depot.least[size_class]; many > 0; many--) {
                        block_t *first    = pop_list(size_class);
                        *next_list(first) = unused;
                        unused            = first;
                }
                depot.least[size_class] = depot.count[size_class];
        }
        depot.trimmed_us = now;
        return unused;
}

static void give_list(uint32_t size_class, list_t *list) {
        block_t *unused = NULL;
        block_t *first  = list->first;
        size_t bytes    = list_bytes(size_class, list->blocks);
        rd_ts_t now;

        if (!first)
                return;
        first->blocks = list->blocks;
        list->first   = NULL;
        list->blocks  = 0;
        now           = rd_clock();
        mtx_lock(&depot.lock);
        if (depot.producers > 0 && depot.bytes + bytes <= DEPOT_BYTES) {
                *next_list(first)       = depot.lists[size_class];
                depot.lists[size_class] = first;
                depot.count[size_class]++;
                depot.bytes += bytes;
                first = NULL;
        }
        if (now - depot.trimmed_us >= UNUSED_US)
                unused = trim(now);
        mtx_unlock(&depot.lock);
        free_list(first);
        free_lists(unused);
}

static int take_list(uint32_t size_class, list_t *list) {
        block_t *first;

        mtx_lock(&depot.lock);
        first = pop_list(size_class);
        mtx_unlock(&depot.lock);
        if (!first)
                return 0;
        list->first  = first;
        list->blocks = first->blocks;
        return 1;
}

static void empty_cache(void *opaque) {
        cache_t *mine = opaque;
        uint32_t size_class;

        mine->registered = 0;
        for (size_class = 0; size_class < CLASSES; size_class++) {
                give_list(size_class, &mine->active[size_class]);
                give_list(size_class, &mine->spare[size_class]);
        }
}

static void *pool_get(size_t size) {
        uint32_t size_class = (uint32_t)((size - 1) / CLASS_BYTES);
        cache_t *mine       = &cache;
        block_t *block;
        list_t *active;

        if (unlikely(size > CLASSES * CLASS_BYTES)) {
                block             = rd_malloc(sizeof(*block) + size);
                block->size_class = CLASS_LARGE;
                return block + 1;
        }
        active = &mine->active[size_class];
        if (unlikely(!active->first)) {
                if (mine->spare[size_class].first) {
                        *active                        = mine->spare[size_class];
                        mine->spare[size_class].first  = NULL;
                        mine->spare[size_class].blocks = 0;
                } else if (!take_list(size_class, active)) {
                        block = rd_malloc(sizeof(*block) + (size_t)(size_class + 1) * CLASS_BYTES);
                        block->size_class = size_class;
                        return block + 1;
                }
        }
        block         = active->first;
        active->first = block->next;
        active->blocks--;
        return block + 1;
}

static void pool_put(void *memory) {
        block_t *block = (block_t *)memory - 1;
        cache_t *mine  = &cache;
        list_t *active;

        if (unlikely(block->size_class == CLASS_LARGE)) {
                free(block);
                return;
        }
        if (unlikely(!mine->registered)) {
                if (tss_set(at_thread_end, mine) != thrd_success) {
                        free(block);
                        return;
                }
                mine->registered = 1;
        }
        active        = &mine->active[block->size_class];
        block->next   = active->first;
        active->first = block;
        if (unlikely(++active->blocks == LIST_BLOCKS)) {
                give_list(block->size_class, &mine->spare[block->size_class]);
                mine->spare[block->size_class] = *active;
                active->first                  = NULL;
                active->blocks                 = 0;
        }
}

int cyk_message_pool_install(void) {
        if (mtx_init(&depot.lock, mtx_plain) != thrd_success || tss_create(&at_thread_end, empty_cache) != thrd_success)
                return -1;
        rd_kafka_msg_memory_get = pool_get;
        rd_kafka_msg_memory_put = pool_put;
        return 0;
}

void cyk_message_pool_lock(void) {
        mtx_lock(&depot.lock);
}

void cyk_message_pool_unlock(void) {
        mtx_unlock(&depot.lock);
}

void cyk_message_pool_enter(void) {
        mtx_lock(&depot.lock);
        depot.producers++;
        mtx_unlock(&depot.lock);
}

void cyk_message_pool_leave(void) {
        block_t *unused = NULL;

        mtx_lock(&depot.lock);
        if (--depot.producers == 0) {
                memcpy(depot.least, depot.count, sizeof(depot.least));
                unused = trim(rd_clock());
        }
        mtx_unlock(&depot.lock);
        free_lists(unused);
}
#endif
