/* confine.c - a Landlock ruleset, by system calls: the C library has no functions for it
 */
#define _GNU_SOURCE /* O_PATH */
#include "confine.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The numbers are those of the kernel's interface, the same on every architecture. The
 * header of an older system lacks the later ones. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define WANT_VERSION 1u
#define BENEATH_PATH 1

#define FS_EXECUTE (1ull << 0)
#define FS_WRITE_FILE (1ull << 1)
#define FS_REMOVE_DIR (1ull << 4)
#define FS_REMOVE_FILE (1ull << 5)
#define FS_MAKE_REG (1ull << 8)
#define FS_MAKE_ANY (0x7full << 6) /* also devices, directories, sockets, links */
#define FS_REFER (1ull << 13)      /* since version 2: renaming between directories */
#define FS_TRUNCATE (1ull << 14)   /* since 3 */
#define NET_BIND_TCP (1ull << 0)   /* since 4 */
#define NET_CONNECT_TCP (1ull << 1)

typedef struct ruleset {
    uint64_t fs, net; /* what is forbidden unless a rule allows it */
} ruleset;

typedef struct path_rule {
    uint64_t allowed;
    int32_t directory;
} __attribute__((packed)) path_rule;

static void allow_directory_of(const char *file, int rules, uint64_t what)
{
    char directory[RF_PATH_MAX];
    const char *slash = strrchr(file, '/');
    int n = slash ? (int)(slash - file) + 1 : 1;
    if (snprintf(directory, sizeof directory, "%.*s", n, slash ? file : ".") >=
        (int)sizeof directory)
        return; /* opening the file fails, too */
    path_rule r = {what, open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (r.directory < 0)
        return;
    syscall(SYS_landlock_add_rule, rules, BENEATH_PATH, &r, 0);
    close(r.directory);
}

bool confine_writes(const char *const *files, size_t n)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, WANT_VERSION);
    if (version < 1)
        return false;
    uint64_t writing = FS_WRITE_FILE | FS_REMOVE_FILE | FS_MAKE_REG;
    ruleset all = {writing | FS_MAKE_ANY | FS_REMOVE_DIR | FS_EXECUTE, 0};
    if (version >= 2)
        all.fs |= FS_REFER;
    if (version >= 3) {
        all.fs |= FS_TRUNCATE;
        writing |= FS_TRUNCATE;
    }
    if (version >= 4)
        all.net = NET_BIND_TCP | NET_CONNECT_TCP;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (rules < 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (files[i])
            allow_directory_of(files[i], rules, writing);
    bool done = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return done;
}
