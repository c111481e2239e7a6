#!/bin/sh
# Generates the secrets of a Compose project in the folders postgres, valkey and ostiary, each for the user of its container. What exists is
# kept. Prints no secret.
#
#   make-secrets.sh <folder>
set -eu
folder=$1
# The users of the images: ostiary's own, and root of the others, which drop it themselves.
ostiary=10001:10001
umask 077

# 32 random bytes in hexadecimal, which need no escape in a URL.
random() {
  od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

# Writes a secret that does not exist yet. A file that was cut off is never seen: it is renamed when it is whole.
keep() {
  file=$folder/$1
  mode=$2
  owner=$3
  if [ ! -s "$file" ]; then
    cat >"$file.new"
    chmod "$mode" "$file.new"
    [ "$(id -u)" != 0 ] || chown "$owner" "$file.new"
    mv "$file.new" "$file"
    echo "generated $1"
  fi
}

mkdir -p "$folder/postgres" "$folder/valkey" "$folder/ostiary"
[ "$(id -u)" != 0 ] || chown "$ostiary" "$folder/ostiary"
chmod 755 "$folder/valkey" "$folder/postgres"
chmod 700 "$folder/ostiary"

random | keep postgres/password 600 0:0
password=$(cat "$folder/postgres/password")
printf 'postgres://ostiary:%s@postgres:5432/ostiary' "$password" | keep ostiary/database-url 400 "$ostiary"

if [ ! -s "$folder/valkey/valkey.conf" ]; then
  password=$(random)
  # Before the configuration: a start that is cut off here generates both again.
  rm -f "$folder/ostiary/redis-url"
  printf 'redis://:%s@valkey:6379' "$password" | keep ostiary/redis-url 400 "$ostiary"
  # Everything in it can be rebuilt; an evicted key would lift a limit. Its user reads it after it has dropped root.
  printf 'requirepass %s\nsave ""\nappendonly no\nmaxmemory-policy noeviction\n' "$password" | keep valkey/valkey.conf 444 0:0
fi

random | keep ostiary/operator-password 400 "$ostiary"
random | keep ostiary/responses-key 400 "$ostiary"
