/* error.c - messages of failures, and names of statuses */
#include "base/error.h"

#include "base/controls.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

rf_status rf_fail(rf_error *err, rf_status code, size_t pos, const char *fmt, ...)
{
    if (!err)
        return code;
    err->code = code;
    err->pos = pos;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    /* It quotes files, and ends up on terminals. */
    rf_replace_controls(err->msg, strlen(err->msg), '?');
    return code;
}

rf_status rf_fail_errno(rf_error *err, const char *fmt, ...)
{
    int saved = errno;
    rf_status code = saved == ENOENT ? RF_ERR_MISSING : RF_ERR_IO;
    if (!err)
        return code;
    err->code = code;
    err->pos = 0;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof err->msg) {
        char words[128];
        /* The XSI variant: fills words, no shared buffer. */
        if (strerror_r(saved, words, sizeof words) != 0)
            snprintf(words, sizeof words, "error %d", saved);
        snprintf(err->msg + n, sizeof err->msg - (size_t)n, ": %s", words);
    }
    rf_replace_controls(err->msg, strlen(err->msg), '?');
    return code;
}

rf_status rf_fail_nomem(rf_error *err, size_t bytes, const char *what)
{
    return rf_fail(err, RF_ERR_NOMEM, 0, "cannot allocate %zu bytes for %s", bytes, what);
}

const char *rf_status_name(rf_status code)
{
    switch (code) {
    case RF_OK: return "ok";
    case RF_ERR_ARG: return "bad argument";
    case RF_ERR_NOMEM: return "out of memory";
    case RF_ERR_IO: return "input/output error";
    case RF_ERR_FORMAT: return "bad format";
    case RF_ERR_VERSION: return "unsupported version";
    case RF_ERR_LIMIT: return "limit exceeded";
    case RF_ERR_NUMERIC: return "not a finite number";
    case RF_ERR_MISSING: return "missing";
    case RF_ERR_STOPPED: return "stopped";
    }
    return "unknown status";
}

const char *rf_version(void)
{
    return RF_VERSION;
}
