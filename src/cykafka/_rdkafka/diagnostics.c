/* What a client tells of itself: logs and errors without secrets, and why it cannot reach its brokers. */
#include "native_int.h"

#include <string.h>

#include "rdkafka_broker.h"
#include "rdkafka_cgrp.h"
#include "rdkafka_sasl_oauthbearer.h"

#define CYK_REDACTED "[redacted]"

/* ---- Secrets ---- */

void cyk_handle_add_secret(cyk_handle_t *h, const char *text, int changes) {
        char *copy = rd_strdup(text);
        mtx_lock(&h->lock);
        if (changes) {
                /* Tokens come again and again: the oldest makes room. */
                free(h->recent_secrets[h->next_secret]);
                h->recent_secrets[h->next_secret] = copy;
                h->next_secret                    = (h->next_secret + 1) % CYK_RECENT_SECRETS;
        } else {
                h->secrets                  = rd_realloc(h->secrets, (h->secret_cnt + 1) * sizeof(*h->secrets));
                h->secrets[h->secret_cnt++] = copy;
        }
        mtx_unlock(&h->lock);
}

void cyk_secrets_destroy(cyk_handle_t *h) {
        size_t i;
        for (i = 0; i < h->secret_cnt; i++)
                free(h->secrets[i]);
        free(h->secrets);
        for (i = 0; i < CYK_RECENT_SECRETS; i++)
                free(h->recent_secrets[i]);
}

/* Replaces each occurrence of the secret; takes ownership of text. */
static char *cyk_replace(char *text, const char *secret) {
        const size_t secret_len = strlen(secret), mark_len = strlen(CYK_REDACTED);
        size_t cnt = 0;
        const char *from, *at;
        char *result, *to;

        for (at = text; (at = strstr(at, secret)); at += secret_len)
                cnt++;
        if (!cnt)
                return text;
        to = result = rd_malloc(strlen(text) + cnt * mark_len + 1);
        for (from = text; (at = strstr(from, secret)); from = at + secret_len) {
                memcpy(to, from, (size_t)(at - from));
                to += at - from;
                memcpy(to, CYK_REDACTED, mark_len);
                to += mark_len;
        }
        strcpy(to, from);
        free(text);
        return result;
}

char *cyk_redact(cyk_handle_t *h, const char *text) {
        char *result = rd_strdup(text);
        size_t i;
        mtx_lock(&h->lock);
        for (i = 0; i < h->secret_cnt; i++)
                result = cyk_replace(result, h->secrets[i]);
        for (i = 0; i < CYK_RECENT_SECRETS; i++)
                if (h->recent_secrets[i])
                        result = cyk_replace(result, h->recent_secrets[i]);
        mtx_unlock(&h->lock);
        return result;
}

void cyk_print_log(const rd_kafka_t *rk, int level, const char *fac, const char *buf) {
        cyk_handle_t *h = rk ? rd_kafka_opaque(rk) : NULL;
        char *text      = h ? cyk_redact(h, buf) : NULL;
        rd_kafka_log_print(rk, level, fac, text ? text : buf);
        free(text);
}

/* ---- Reasons ---- */

static int cyk_reason_rank(rd_kafka_resp_err_t err) {
        switch (err) {
        case RD_KAFKA_RESP_ERR__AUTHENTICATION:
                return 4;
        case RD_KAFKA_RESP_ERR__SSL:
                return 3;
        case RD_KAFKA_RESP_ERR__RESOLVE:
                return 2;
        case RD_KAFKA_RESP_ERR__TRANSPORT:
                return 1;
        default:
                return 0;
        }
}

char *cyk_handle_reason(cyk_handle_t *h) {
        char errstr[1024] = "";
        rd_kafka_broker_t *rkb;
        const rd_kafka_cgrp_t *rkcg;
        int best = 0;

        if (rd_kafka_oauthbearer_token_failure(h->rk, errstr, sizeof(errstr)))
                return cyk_redact(h, errstr);

        rd_kafka_rdlock(h->rk);
        TAILQ_FOREACH(rkb, &h->rk->rk_brokers, rkb_link) {
                int rank;
                rd_kafka_broker_lock(rkb);
                /* Written by the broker's thread without the lock: read while it is being written, the text is a
                 * mix of two errors, and ends within the buffer all the same. */
                rank = rd_kafka_broker_state_is_up(rkb->rkb_state) ? 0 : cyk_reason_rank(rkb->rkb_last_err.err);
                if (rank > best) {
                        best = rank;
                        rd_snprintf(errstr, sizeof(errstr), "%s: %.*s", rkb->rkb_name,
                                    (int)sizeof(rkb->rkb_last_err.errstr) - 1, rkb->rkb_last_err.errstr);
                }
                rd_kafka_broker_unlock(rkb);
        }
        rd_kafka_rdunlock(h->rk);

        rkcg = h->rk->rk_cgrp;
        if (!best && rkcg && rkcg->rkcg_coord_id == -1 && rkcg->rkcg_last_err) {
                best = 1;
                rd_snprintf(errstr, sizeof(errstr), "group %.*s: %s", RD_KAFKAP_STR_PR(rkcg->rkcg_group_id),
                            rd_kafka_err2str(rkcg->rkcg_last_err));
        }
        return best ? cyk_redact(h, errstr) : NULL;
}
