/*
 * file.h - files: mapped for reading, written so that they appear complete or not at all
 */
#ifndef RF_BASE_FILE_H
#define RF_BASE_FILE_H

#include "base/buffer.h"

/* A file mapped read-only, or a copy of it. An empty file has data NULL and len 0. */
typedef struct rf_mapping {
    const unsigned char *data;
    size_t len;
    bool copied;
} rf_mapping;

rf_status rf_mapping_open(rf_mapping *mapping, const char *path, rf_error *err);
/* The same as a copy in memory: touching a mapped file that was cut short in the meantime
 * would end the process (SIGBUS). */
rf_status rf_mapping_copy(rf_mapping *mapping, const char *path, rf_error *err);
void rf_mapping_close(
    rf_mapping *mapping); /* accepts a zeroed struct, twice is harmless */

/* Tells the kernel that the pages of [from, from+len) are not needed for now: they leave
 * our resident memory and come back from the page cache when touched. A copy stays. */
void rf_mapping_forget(const rf_mapping *mapping, size_t from, size_t len);

/* Reads a whole file into an initialised buffer, up to its ceiling. */
rf_status rf_file_read(const char *path, rf_buffer *out, rf_error *err);

/* Writes all bytes to an open file, in as many calls as it takes; path is for the
 * message. */
rf_status rf_fd_write(int fd, const void *bytes, size_t len, const char *path,
                      rf_error *err);

/* Writes all bytes to a new file at path and flushes it to disk. Not atomic: used inside
 * a directory that is renamed into place (rf_dir_publish). */
rf_status rf_file_write(const char *path, const void *bytes, size_t len, rf_error *err);

/* A file being replaced: written under a temporary name beside `path` and renamed when it
 * is complete. Until then whatever is at `path` stays as it is. */
typedef struct rf_new_file {
    bool open;
    int fd;
    bool replaces; /* there was a file at path */
    char path[RF_PATH_MAX];
    char temporary[RF_PATH_MAX];
} rf_new_file;

/* At path may be a regular file, or a link to one (the link is replaced); anything else
 * is refused. Permissions are those of any new file. */
rf_status rf_new_file_open(rf_new_file *f, const char *path, rf_error *err);

/* Append; or overwrite bytes that were written before. */
rf_status rf_new_file_add(rf_new_file *f, const void *bytes, size_t len, rf_error *err);
rf_status rf_new_file_patch(rf_new_file *f, size_t at, const void *bytes, size_t len,
                            rf_error *err);

/* Flushes to disk and renames into place. On failure the temporary file is removed and
 * the message says that the old file is unchanged. */
rf_status rf_new_file_commit(rf_new_file *f, rf_error *err);

/* Gives up: removes the temporary file. Harmless after commit and on a zeroed struct. */
void rf_new_file_abandon(rf_new_file *f);

/* dir + "/" + name, RF_ERR_LIMIT if it does not fit into RF_PATH_MAX. */
rf_status rf_path_join(char out[RF_PATH_MAX], const char *dir, const char *name,
                       rf_error *err);

/* Anything by that name: file, directory, link. A dangling link counts: ignoring it would
 * silently use something else. */
bool rf_file_exists(const char *path);

/* Makes a directory and its parents. */
rf_status rf_dir_make(const char *path, rf_error *err);

/* Makes a new, empty directory beside `path` (same file system, so that a rename is
 * possible) and writes its name to out. */
rf_status rf_dir_make_beside(const char *path, char out[RF_PATH_MAX], rf_error *err);

/* Removes a directory and everything in it. Best effort. */
void rf_dir_remove(const char *path);

/* Flushes the directory `from` and renames it to `to`, which must not exist. */
rf_status rf_dir_publish(const char *from, const char *to, rf_error *err);

#endif
