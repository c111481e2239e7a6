#!/bin/sh
# Assembles the root of the image from a Debian system with Node: the package, Node, the libraries that they load, and the
# files that name the user.
#
#   assemble-root.sh <ostiary-server.tgz> <folder>
set -eu
package=$1
root=$2
bundled=${BUNDLED_DATABASE:-1}
uid=10001

mkdir -p "$root/opt/ostiary" "$root/usr/local/bin" "$root/usr/lib" "$root/usr/bin" "$root/etc/ssl/certs" "$root/tmp" \
  "$root/var/lib/ostiary" "$root/run" "$root/proc" "$root/sys" "$root/dev"
ln -s usr/bin "$root/bin"
ln -s usr/lib "$root/lib"
[ -e /lib64 ] && ln -s usr/lib64 "$root/lib64" && mkdir -p "$root/usr/lib64"

omit=""
[ "$bundled" = 1 ] || omit="--omit=optional"
# shellcheck disable=SC2086
npm install --prefix "$root/opt/ostiary" --omit=dev $omit --ignore-scripts --no-audit --no-fund --loglevel=error "$package"

cp -L "$(command -v node)" "$root/usr/local/bin/node"
[ "$bundled" != 1 ] || cp -L "$(readlink -f /bin/sh)" "$root/usr/bin/sh"

# Libraries of the package's own are found beside its programs; those of the system are copied. A loader is among them.
libraries() {
  find "$root/usr/local/bin" "$root/usr/bin" "$root/opt/ostiary" -type f \( -perm -100 -o -name '*.node' -o -name '*.so*' \) |
    while read -r file; do ldd "$file" 2>/dev/null || true; done |
    sed -nE 's|^.* => (/[^ ]+) .*$|\1|p; s|^[[:space:]]*(/[^ ]+) \(.*$|\1|p' |
    grep -v "^$root" | sort -u
}
# NSS and the resolver are opened by name, so ldd does not list them.
{ libraries; find /usr/lib /lib -name 'libnss_files.so.2' -o -name 'libnss_dns.so.2' -o -name 'libresolv.so.2'; } | sort -u |
  while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    [ -e "$root$library" ] || cp -L "$library" "$root$library"
  done

# The locale of the bundled PostgreSQL.
[ ! -d /usr/lib/locale/C.utf8 ] || { mkdir -p "$root/usr/lib/locale" && cp -r /usr/lib/locale/C.utf8 "$root/usr/lib/locale/"; }

echo "root:x:0:0:root:/root:/sbin/nologin
ostiary:x:$uid:$uid:ostiary:/var/lib/ostiary:/sbin/nologin" >"$root/etc/passwd"
echo "root:x:0:
ostiary:x:$uid:" >"$root/etc/group"
echo "hosts: files dns" >"$root/etc/nsswitch.conf"
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
chmod 1777 "$root/tmp"
chown "$uid:$uid" "$root/var/lib/ostiary"
chmod 700 "$root/var/lib/ostiary"
