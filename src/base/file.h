/*
 * file.h - files: mapped for reading, written so that they appear whole or not at all
 */
#ifndef RF_BASE_FILE_H
#define RF_BASE_FILE_H

#include "base/buffer.h"

/* A file mapped read-only. An empty file has data NULL and len 0. */
typedef struct rf_map {
    const unsigned char *data;
    size_t len;
} rf_map;

rf_status rf_map_open(rf_map *map, const char *path, rf_error *err);
void rf_map_close(rf_map *map); /* accepts a zeroed map, twice is harmless */

/* Tell the kernel that the pages of [from, from+len) are not needed for now: they leave
 * our resident memory and come back from the page cache when touched. */
void rf_map_forget(const rf_map *map, size_t from, size_t len);

/* Whole file into an initialised buffer, up to its ceiling. */
rf_status rf_file_read(const char *path, rf_buffer *out, rf_error *err);

/* Write all bytes to an open file, however often the system has to be asked; path is for
 * the message. */
rf_status rf_fd_write(int fd, const void *bytes, size_t len, const char *path,
                      rf_error *err);

/* Write all bytes to a new file at path and flush it to the disk. Not atomic by itself:
 * used inside a directory that is renamed into place (rf_dir_publish). */
rf_status rf_file_write(const char *path, const void *bytes, size_t len, rf_error *err);

/* A file in the making: written under another name beside its place, and put there when
 * it is complete. Until then whatever is at `path` stays as it is. */
typedef struct rf_new_file {
    bool open;
    int fd;
    bool replaces; /* there is a file at path already */
    char path[RF_PATH_MAX];
    char temporary[RF_PATH_MAX];
} rf_new_file;

/* path may be taken by a regular file, or by a link to one (the link is what is
 * replaced); anything else is refused. Permissions are those of any new file. */
rf_status rf_new_file_open(rf_new_file *f, const char *path, rf_error *err);

/* Add bytes at the end; or over bytes that were written before. */
rf_status rf_new_file_add(rf_new_file *f, const void *bytes, size_t len, rf_error *err);
rf_status rf_new_file_patch(rf_new_file *f, size_t at, const void *bytes, size_t len,
                            rf_error *err);

/* Flush to the disk and rename into place. Whatever fails, the temporary file is gone
 * and the message says that the old file is unchanged. */
rf_status rf_new_file_commit(rf_new_file *f, rf_error *err);

/* Give up: remove the temporary file. Harmless after commit and on a zeroed struct. */
void rf_new_file_abandon(rf_new_file *f);

/* dir + "/" + name, RF_ERR_LIMIT if it does not fit into RF_PATH_MAX. */
rf_status rf_path_join(char out[RF_PATH_MAX], const char *dir, const char *name,
                       rf_error *err);

/* Anything by that name: file, directory, link. A link that leads nowhere is there too:
 * to go on as if it were not would use something else in silence. */
bool rf_file_exists(const char *path);

/* Make a directory and its parents. */
rf_status rf_dir_make(const char *path, rf_error *err);

/* A new, empty, private directory beside `path` (same file system, so that a rename is
 * possible), its name written to out. */
rf_status rf_dir_make_beside(const char *path, char out[RF_PATH_MAX], rf_error *err);

/* Remove a directory with the plain files and directories in it. Best effort. */
void rf_dir_remove(const char *path);

/* Flush the directory `from` and rename it to `to`, which must not exist. */
rf_status rf_dir_publish(const char *from, const char *to, rf_error *err);

#endif
