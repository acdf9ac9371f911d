/* fuzz_headers.c - headers and query options of the service: the first byte says which */
#include "request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const request_limits limits = {
    .max_texts = 100, .max_text_bytes = 1000, .max_deadline_ms = 30000};

static void must(bool fine)
{
    if (!fine)
        abort();
}

/* "name=value"; without a sign there is no value. */
static bool read_option(char *text, problem *p)
{
    job *j = job_new(NULL);
    must(j);
    j->options = rf_answer_options_default();
    char *value = strchr(text, '=');
    if (value)
        *value++ = '\0';
    bool good = request_option(j, text, value, &limits, p);
    if (good)
        must(j->options.top <= REQUEST_MAX_TOP && j->options.margins <= REQUEST_MAX_TOP &&
             j->options.explain <= REQUEST_MAX_EXPLAIN &&
             j->deadline_ms <= limits.max_deadline_ms);
    job_detach(j);
    return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    problem p = {0};
    request_kind kind = REQUEST_JSON;
    rf_text t;
    char *text = size ? malloc(size) : NULL;
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 4) {
    case 0: must(request_kind_of(text, &kind, &p) == (p.status == 0)); break;
    case 1: (void)request_accepts_stream(text); break;
    case 2: (void)request_forbids_store(text); break;
    default: must(read_option(text, &p) == (p.status == 0));
    }
    rf_text_init(&t, 1 << 16, "a problem");
    if (p.status) { /* an error is JSON, whatever was sent */
        problem_write(&p, &t);
        json_t *back = json_loadb(t.buffer.data, t.buffer.len, 0, NULL);
        must(back);
        json_decref(back);
    }
    rf_text_release(&t);
    free(text);
    return 0;
}
