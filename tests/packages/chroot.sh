# chroot.sh - small Debian systems to try packages in; to be sourced by a script that runs as root.
# debian_base makes one with debootstrap and keeps it; copy_of gives a fresh copy; inside runs a command in
# it, in mount and process namespaces of its own, so that nothing stays mounted or running.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' |
    awk '$2 == "bookworm" && $3 == "main" { print $1; exit }')}

[ "$(id -u)" = 0 ] || {
    echo "$0: needs root, for debootstrap and chroot" >&2
    exit 1
}

not() { # a command that must fail; after a bare ! the shell goes on whatever happens
    ! "$@"
}

debian_base() { # directory
    [ -e "$1/.complete" ] && return
    rm -rf "$1"
    mkdir -p "$(dirname "$1")"
    echo "debootstrap of Debian 12 ..."
    debootstrap --variant=minbase bookworm "$1" ${mirror:+"$mirror"} >"$1.log" 2>&1 || { # else its own default
        tail "$1.log" >&2
        return 1
    }
    # A package that starts a service at installation is caught: this notes it and refuses.
    printf '#!/bin/sh\necho "$@" >>/policy-rc.d.log\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
    chmod +x "$1/usr/sbin/policy-rc.d"
    echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/fast" # it is thrown away anyway
    touch "$1/.complete"
}

copy_of() { # base, directory
    rm -rf "$2"
    cp -a "$1" "$2"
}

inside() { # [--offline] directory, command...
    local net=
    [ "$1" != --offline ] || { net=--net && shift; } # loopback is all that is left
    unshare $net --mount --pid --fork --kill-child sh -c '
        root=$1; shift
        ip link set lo up && mount -t proc proc "$root/proc" && mount --bind /dev "$root/dev" &&
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root TERM=dumb \
            DEBIAN_FRONTEND=noninteractive "$@"' sh "$@"
}
