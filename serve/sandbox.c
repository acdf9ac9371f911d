/* sandbox.c - a seccomp filter: a list of forbidden calls, everything else is allowed */
#include "sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#define OTHER_ABI 0x40000000u /* numbers of x32, which would pass by the list */
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

/* A leak checker traces the process when it ends. */
#if defined(__SANITIZE_ADDRESS__)
#define LEAK_CHECKER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAK_CHECKER
#endif
#endif

#ifdef OWN_ARCH

static const int forbidden[] = {
    SYS_execve,
    SYS_execveat,
#ifndef LEAK_CHECKER
    SYS_ptrace,
#endif
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_open_by_handle_at,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_reboot,
};
#define N_FORBIDDEN (sizeof forbidden / sizeof *forbidden)

static struct sock_filter load(size_t offset)
{
    return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

/* Goes on with the next instruction if the test holds, else jumps over `skip`. */
static struct sock_filter test(unsigned how, uint32_t value, size_t skip)
{
    return (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | how | BPF_K), value, 0,
                                        (uint8_t)skip);
}

static struct sock_filter answer(uint32_t with)
{
    return (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, with);
}

bool sandbox_enter(void)
{
    struct sock_filter code[2 * N_FORBIDDEN + 8];
    uint16_t n = 0;
    uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
    code[n++] = load(offsetof(struct seccomp_data, arch));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
    code[n++] = answer(refuse);
    code[n++] = load(offsetof(struct seccomp_data, nr));
#ifdef OTHER_ABI
    code[n++] = test(BPF_JGE, OTHER_ABI, 1);
    code[n++] = answer(refuse);
#endif
    for (size_t i = 0; i < N_FORBIDDEN; i++) {
        code[n++] = test(BPF_JEQ, (uint32_t)forbidden[i], 1);
        code[n++] = answer(refuse);
    }
    code[n++] = answer(SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

#else

bool sandbox_enter(void)
{
    return false;
}

#endif
