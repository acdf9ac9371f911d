/*
 * confine.h - from now on files are written in certain directories only, for good
 *
 * Landlock: the kernel refuses to open any other file for writing, to make, remove or
 * rename files elsewhere, to run programs, and, where it is new enough, to open TCP
 * connections. Reading is not restricted: a model may be replaced by a link to anywhere.
 */
#ifndef RF_SERVE_CONFINE_H
#define RF_SERVE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

/* For the calling thread and those it starts. Allowed are the directories of these files,
 * and what is below them; NULLs are skipped, and so is a directory that is not there.
 * False if the system has no Landlock; then nothing is restricted. */
bool confine_writes(const char *const *files, size_t n);

#endif
