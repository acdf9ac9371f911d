/* fuzz_runs.c - results of the lab: the first byte says of which file. They are read, and
 * put through every table; results of runs through the page, too */
#include "lab/lab.h"
#include "lab/results.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {RF_RUNS_FILE, "updates.jsonl", "loop.jsonl"};
static char dir[64], files[3][100], page[100];

static void must(bool fine)
{
    if (!fine)
        abort();
}

static void clean_up(void)
{
    rf_dir_remove(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    snprintf(dir, sizeof dir, "%s/ringfence-fuzz-runs-%d",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    must(mkdir(dir, 0700) == 0);
    atexit(clean_up);
    for (size_t i = 0; i < 3; i++)
        snprintf(files[i], sizeof files[i], "%s/%s", dir, names[i]);
    snprintf(page, sizeof page, "%s/page.html", dir);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rf_error err = {0};
    if (size == 0)
        return 0;
    size_t which = data[0] % 3;
    for (size_t i = 0; i < 3; i++)
        unlink(files[i]);
    FILE *f = fopen(files[which], "wb");
    must(f && fwrite(data + 1, 1, size - 1, f) == size - 1 && fclose(f) == 0);
    if (which == 0) {
        rf_run *list;
        size_t n;
        rf_status st = rf_runs_load(dir, &list, &n, &err);
        must(st == RF_OK || err.msg[0]);
        if (st != RF_OK)
            return 0;
        rf_runs_free(list, n);
    }
    for (int form = RF_TABLE_TEXT; form <= RF_TABLE_LATEX; form++) {
        rf_table_options o = {.format = (rf_table_format)form};
        char *text = NULL;
        if (rf_lab_table(dir, &o, &text, &err) == RF_OK)
            free(text);
        else
            must(!text && err.msg[0]);
    }
    rf_lab_report_options r = {.threads = 1};
    must(rf_lab_report(dir, &r, page, &err) == RF_OK || err.msg[0]);
    return 0;
}
