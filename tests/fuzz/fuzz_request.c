/* fuzz_request.c - requests of the service: the first byte says of which kind */
#include "request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const request_limits limits = {
        .max_texts = 100, .max_text_bytes = 1000, .max_deadline_ms = 30000};
    job *j = job_new(NULL);
    char *body = malloc(size + 1);
    problem p = {0};
    if (!j || !body || size == 0) {
        free(body);
        job_detach(j);
        return 0;
    }
    j->options = rf_answer_options_default();
    memcpy(body, data + 1, size - 1);
    body[size - 1] = '\0';
    bool good = request_read(j, data[0] % 3, body, size - 1, &limits, &p);
    if (good != (p.status == 0) || (good && j->n > limits.max_texts))
        abort();
    for (size_t i = 0; good && i < j->n; i++) {
        if (j->texts[i].len > limits.max_text_bytes)
            abort();
        volatile char sum = 0;
        for (size_t k = 0; k < j->texts[i].len; k++)
            sum = (char)(sum ^ j->texts[i].bytes[k]);
    }
    rf_text t;
    rf_text_init(&t, 1 << 16, "a problem");
    if (!good)
        problem_write(&p, &t);
    json_t *back = good ? NULL : json_loadb(t.buffer.data, t.buffer.len, 0, NULL);
    if (!good && !back)
        abort(); /* an error is JSON, whatever was sent */
    json_decref(back);
    rf_text_release(&t);
    job_detach(j);
    return 0;
}
