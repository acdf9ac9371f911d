/*
 * delimiter.c - tries each separator on the first records
 *
 * Excel writes ; where the comma is a decimal point. A separator that is right cuts every
 * record into as many fields as the first; one that is wrong occurs in some texts only,
 * and, if it is a comma of prose, has a space behind it.
 */
#include "data/delimiter.h"

#define RECORDS 200 /* that are looked at */

typedef struct trial {
    char separator;
    const char *bytes;
    size_t len, i;
} trial;

typedef struct score {
    size_t records, same; /* as many fields as the first record */
    size_t cuts, spaced;  /* separators, and those with a space behind them */
} score;

/* Fields of the record at t->i, which moves to the next; 0 for an empty line. *whole is
 * false if the bytes end before the record does. */
static size_t count_fields(trial *t, score *s, bool *whole)
{
    size_t n = 1, from = t->i;
    bool quoted = false, start = true;
    for (; t->i < t->len; t->i++) {
        char c = t->bytes[t->i];
        if (c == '"' && (start || quoted)) {
            quoted = !quoted || (t->i + 1 < t->len && t->bytes[t->i + 1] == '"');
            t->i += quoted && !start; /* doubled */
            start = false;
        } else if (!quoted && c == '\n') {
            break;
        } else if (!quoted && c == t->separator) {
            n++;
            s->cuts++;
            s->spaced += t->i + 1 < t->len && t->bytes[t->i + 1] == ' ';
            start = true;
        } else {
            start = false;
        }
    }
    *whole = t->i < t->len;
    size_t used = t->i - from;
    bool empty = used == 0 || (used == 1 && t->bytes[from] == '\r');
    t->i++;
    return empty ? 0 : n;
}

static score try_separator(char separator, const char *bytes, size_t len, bool all)
{
    trial t = {separator, bytes, len, 0};
    score s = {0};
    size_t first = 0;
    while (t.i < len && s.records < RECORDS) {
        bool whole;
        size_t n = count_fields(&t, &s, &whole);
        if (n == 0 || (!whole && !all && s.records > 0))
            continue;
        first = first ? first : n;
        s.records++;
        s.same += n == first;
    }
    return first > 1 ? s : (score){0};
}

/* The share of records that fit, halved for commas of prose. */
static double worth(const score *s)
{
    if (s->records == 0)
        return 0.0;
    double share = (double)s->same / (double)s->records;
    return s->spaced == s->cuts ? share / 2.0 : share;
}

char rf_delimiter_find(const char *bytes, size_t len, bool all)
{
    static const char separators[] = ",;|\t";
    char best = ',';
    double most = 0.0;
    for (const char *p = separators; *p; p++) {
        score s = try_separator(*p, bytes, len, all);
        if (worth(&s) > most) {
            most = worth(&s);
            best = *p;
        }
    }
    return best;
}
