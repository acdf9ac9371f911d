/* cmd_tokenize.c - ringfence tokenize: prints the token ids of each line of text */
#include "commands.h"

#include "lines.h"
#include "ringfence_encoder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef struct token_stream {
    const rf_vocab *vocab;
    rf_tokenizer *tokenizer;
    bool pieces;
    bool first; /* the next token is the first of its line */
} token_stream;

static rf_status put_token(void *user, int32_t id, rf_error *err)
{
    token_stream *s = user;
    if (!s->first)
        putchar(' ');
    s->first = false;
    if (s->pieces) {
        size_t len = 0;
        const char *piece = rf_vocab_piece(s->vocab, id, &len);
        fwrite(piece, 1, len, stdout);
    } else {
        printf("%d", (int)id);
    }
    /* Notice a full disk now, not after another hour of input. */
    if (ferror(stdout))
        return rf_fail_errno(err, "standard output: cannot write");
    return RF_OK;
}

static rf_status feed_bytes(void *user, const char *bytes, size_t len, rf_error *err)
{
    token_stream *s = user;
    return rf_tokenizer_feed(s->tokenizer, bytes, len, err);
}

static rf_status end_line(void *user, rf_error *err)
{
    token_stream *s = user;
    rf_status st = rf_tokenizer_end(s->tokenizer, NULL, err);
    putchar('\n');
    s->first = true;
    return st;
}

static rf_status flush_pending(void *user, rf_error *err)
{
    (void)user;
    return fflush(stdout) == 0 ? RF_OK
                               : rf_fail_errno(err, "standard output: cannot write");
}

static int run_tokenize(const command *self, int argc, char **argv)
{
    const char *encoder = NULL, *file = NULL;
    size_t max_tokens = 0, n_files;
    token_stream s = {.first = true};
    const option options[] = {
        {.name = "encoder",
         .kind = OPTION_TEXT,
         .value = &encoder,
         .arg = "E",
         .help = "The encoder: catalogue name, directory, or OWNER/NAME of the Hugging "
                 "Face hub, once fetched (default minilm)."},
        {.name = "max-tokens",
         .kind = OPTION_SIZE,
         .value = &max_tokens,
         .arg = "N",
         .help = "Truncate at N tokens, [CLS] and [SEP] included (default: no limit).",
         .min = 2,
         .max = RF_MAX_POSITIONS},
        {.name = "tokens",
         .kind = OPTION_FLAG,
         .value = &s.pieces,
         .help = "Print the pieces instead of their ids."},
    };
    switch (options_parse(self, options, sizeof options / sizeof options[0], argc, argv,
                          &file, 1, &n_files)) {
    case PARSE_OK: break;
    case PARSE_DONE: return command_finish();
    case PARSE_BAD: return EXIT_USAGE;
    }
    rf_error err = {0};
    char dir[RF_PATH_MAX];
    rf_vocab *vocab = NULL;
    rf_status st = command_encoder_dir(encoder, dir, &err);
    if (st == RF_OK && (vocab = rf_vocab_load(dir, &err))) {
        s.vocab = vocab;
        s.tokenizer = rf_tokenizer_new(vocab, max_tokens, put_token, &s, &err);
        const line_sink sink = {&s, feed_bytes, end_line, flush_pending};
        st = s.tokenizer ? lines_read(file, &sink, &err) : err.code;
    } else {
        st = err.code;
    }
    rf_tokenizer_free(s.tokenizer);
    rf_vocab_free(vocab);
    int code = st == RF_OK ? 0 : command_failed(&err);
    int flushed = st == RF_ERR_IO && ferror(stdout) ? code : command_finish();
    return code ? code : flushed;
}

const command command_tokenize = {
    .name = "tokenize",
    .synopsis = "[--encoder E] [--max-tokens N] [--tokens] [FILE|-]",
    .summary = "Turn each line of text into the ids of its pieces.",
    .details = "Reads FILE, or standard input, and prints one line of ids separated by\n"
               "spaces for each line, [CLS] and [SEP] included. Lines end at LF only.",
    .run = run_tokenize,
};
