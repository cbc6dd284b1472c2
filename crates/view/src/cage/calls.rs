//! The system calls that serving pages takes. Every other one fails as not permitted.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// Takes all other calls away, of this thread and of those that it makes.
pub(super) fn shut() -> Result<(), String> {
    let arch = std::env::consts::ARCH;
    let arch = arch
        .try_into()
        .map_err(|_| format!("no filter for {arch}"))?;
    // The arguments of clone3 lie in memory, where no filter sees them. The C library takes "not implemented" as word to
    // use clone, whose flags are seen below.
    let newer = [(libc::SYS_clone3, Vec::new())].into_iter().collect();
    let newer = SeccompFilter::new(
        newer,
        SeccompAction::Allow,
        SeccompAction::Errno(number(libc::ENOSYS)),
        arch,
    );
    let calls = rules().map_err(|error| error.to_string())?;
    let calls = SeccompFilter::new(
        calls,
        SeccompAction::Errno(number(libc::EPERM)),
        SeccompAction::Allow,
        arch,
    );
    for filter in [newer, calls] {
        let program: Result<BpfProgram, _> = filter.and_then(TryInto::try_into);
        let program = program.map_err(|error| error.to_string())?;
        apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn rules() -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = PLAIN
        .iter()
        .chain(OLDER)
        .map(|call| (*call, Vec::new()))
        .collect();
    // Both filters apply, and the stricter answer counts. So allow clone3 here: a refusal by this filter (EPERM) could
    // hide the "not implemented" (ENOSYS) of the other one.
    rules.insert(libc::SYS_clone3, Vec::new());
    let only = |argument, value: u64| {
        let is = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value)?;
        SeccompRule::new(vec![is])
    };
    let has = |argument, bits: u64| {
        let is = SeccompCondition::new(
            argument,
            SeccompCmpArgLen::Qword,
            SeccompCmpOp::MaskedEq(bits),
            bits,
        )?;
        SeccompRule::new(vec![is])
    };
    // Allow clone only if it makes a thread of this process; a new process is refused.
    rules.insert(
        libc::SYS_clone,
        vec![has(0, flag(libc::CLONE_THREAD | libc::CLONE_VM))?],
    );
    let own = u64::from(std::process::id());
    rules.insert(libc::SYS_tgkill, vec![only(0, own)?]);
    // Allow prctl only for naming a thread or a piece of memory.
    rules.insert(
        libc::SYS_prctl,
        vec![
            only(0, flag(libc::PR_SET_NAME))?,
            only(0, flag(libc::PR_SET_VMA))?,
        ],
    );
    // Allow ioctl only for whether reading blocks and for asking whether it is a terminal: others could have signals
    // sent.
    rules.insert(
        libc::SYS_ioctl,
        vec![only(1, libc::FIONBIO)?, only(1, libc::TCGETS)?],
    );
    let commands = [
        libc::F_GETFL,
        libc::F_SETFL,
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_DUPFD_CLOEXEC,
        libc::F_GETLK,
        libc::F_SETLK,
        libc::F_SETLKW,
    ];
    let commands: Result<Vec<_>, _> = commands
        .iter()
        .map(|command| only(1, flag(*command)))
        .collect();
    rules.insert(libc::SYS_fcntl, commands?);
    Ok(rules)
}

fn number(errno: i32) -> u32 {
    errno.cast_unsigned()
}

fn flag(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

/// Calls whatever their arguments are: memory, threads, time, files that Landlock allows, and sockets that are open.
const PLAIN: &[i64] = &[
    // memory
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    // threads, time, signals to oneself
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_sysinfo,
    // files
    libc::SYS_openat,
    libc::SYS_close,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    libc::SYS_ftruncate,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_unlinkat,
    libc::SYS_dup,
    // sockets that are open, and those that come to the listener
    libc::SYS_accept4,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_ppoll,
];

/// The older names of some of them, which the C library still uses on this processor.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_unlink,
    libc::SYS_poll,
    libc::SYS_epoll_wait,
    libc::SYS_time,
    libc::SYS_gettimeofday,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];
