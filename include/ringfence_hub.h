/*
 * ringfence_hub.h - encoders from the Hugging Face hub
 *
 *   rf_hub_transport t = {.get_text = ..., .get_file = ..., .endpoint = "https://..."};
 *   if (rf_hub_get("BAAI/bge-small-en-v1.5", &t, NULL, NULL, &err) != RF_OK) ...
 *
 * The library has no network code. It knows names, which files an encoder needs, what
 * was promised about them and what was seen before; the bytes come through two functions
 * of the caller. The program's use libcurl (hub/ in the source tree). Once an encoder is
 * in the cache, rf_encoder_path finds it by its name.
 */
#ifndef RINGFENCE_HUB_H
#define RINGFENCE_HUB_H

#include "ringfence.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is wanted of a file, and what the hub has promised about it. */
typedef struct rf_hub_request {
    const char *path; /* below the endpoint, percent-encoded: "/OWNER/NAME/resolve/..." */
    const char *name; /* for people: "model.safetensors" */
    const char *commit; /* the revision as 40 hexadecimal digits */
    const char *sha256; /* in hexadecimal, "" if it is not known */
    int64_t size;       /* in bytes, -1 if it is not known */
    int64_t max;        /* more than this is refused */
} rf_hub_request;

typedef struct rf_hub_transport {
    const char *endpoint; /* is recorded: "https://host" */
    void *user;

    /* The answer to GET endpoint + path, at most max bytes: *text is freed with free()
     * by the library. */
    rf_status (*get_text)(void *user, const char *path, size_t max, char **text,
                          size_t *len, rf_error *err);

    /* Makes `file` the bytes of the request. The file may hold the beginning of them from
     * an earlier call that failed; what a failed call leaves there is never used without
     * a check. A file beside it, named `file` + ".etag", is the function's to use. */
    rf_status (*get_file)(void *user, const rf_hub_request *request, const char *file,
                          rf_error *err);
} rf_hub_transport;

/* Brings an encoder into the cache, unless it is there: OWNER/NAME, or
 * OWNER/NAME@REVISION for a branch, a tag or a commit instead of main. The revision is
 * resolved to a commit, which is recorded and stays. config.json and the tokenizer come
 * first: what this library cannot run is refused before its weights are fetched. Sizes,
 * the hub's sha256 of large files and its git ids of small ones are checked; the sha256
 * of every file is recorded, and compared whenever the name is used and when the same
 * commit is fetched again. The encoder appears complete or not at all; after a failure
 * on the way the weights that came are kept, and the next call continues there. */
RF_API rf_status rf_hub_get(const char *name, const rf_hub_transport *transport,
                            rf_progress progress, void *user, rf_error *err);

/* An encoder of the hub in the cache. */
typedef struct rf_hub_encoder {
    char name[336];    /* "OWNER/NAME" or "OWNER/NAME@REVISION" */
    char commit[41];   /* what the revision was when it was fetched */
    char licence[64];  /* as its page says, "" if it does not */
    char language[64]; /* "en", "de,en", ...; "" if its page does not say */
    uint64_t bytes;    /* of all its files */
    char dir[RF_PATH_MAX];
} rf_hub_encoder;

/* Calls `visit` for each of them, by name; stops when it returns anything but 0. */
RF_API rf_status rf_hub_cached(int (*visit)(void *user, const rf_hub_encoder *encoder),
                               void *user, rf_error *err);

#ifdef __cplusplus
}
#endif

#endif /* RINGFENCE_HUB_H */
