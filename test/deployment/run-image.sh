#!/bin/sh
# Runs a program of an image's root as a container would: in mounts of its own, as the image's user, with nothing but its volumes
# writable. Needs root.
#
#   unshare --mount run-image.sh <root> <user> <program> [argument]…
set -eu
root=$1
user=$2
shift 2
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o "uid=${user%:*},gid=${user#*:},mode=700" tmpfs "$root/var/lib/ostiary"
mount -t tmpfs tmpfs "$root/tmp"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec "$user" --groups= "$root" "$@"
