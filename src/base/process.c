/* process.c - posix_spawn and wait */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn(pid_t *pid, const char *const argv[], const char *log_path)
{
    posix_spawn_file_actions_t files;
    int rc = posix_spawn_file_actions_init(&files);
    if (rc != 0)
        return rc;
    rc = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log_path,
                                              O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    if (rc == 0) /* posix_spawn promises not to change the strings */
        rc = posix_spawnp(pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv,
                          environ);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

rf_status rf_process_run(const char *const argv[], const char *log_path, int *exit_code,
                         rf_error *err)
{
    pid_t pid;
    int status, rc = spawn(&pid, argv, log_path);
    if (rc == ENOENT)
        return rf_fail(err, RF_ERR_MISSING, 0, "%s: no such program in PATH", argv[0]);
    if (rc != 0) {
        errno = rc;
        return rf_fail_errno(err, "%s: cannot run", argv[0]);
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return rf_fail_errno(err, "%s: cannot wait for it", argv[0]);
    if (!WIFEXITED(status))
        return rf_fail(err, RF_ERR_IO, 0, "%s: ended by signal %d", argv[0],
                       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    *exit_code = WEXITSTATUS(status);
    return RF_OK;
}
