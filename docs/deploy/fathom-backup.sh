#!/bin/sh
# fathom-backup.sh DATA BACKUPS KEEP: copies the store in DATA to a new folder in BACKUPS, checks the copy, and
# then removes all but the newest KEEP of the copies there. If anything fails, the copies that are there stay.
set -eu
umask 077
if [ $# -ne 3 ] || ! [ "$3" -ge 1 ]; then
  echo 'fathom-backup.sh: expected DATA BACKUPS KEEP, with a KEEP of at least 1' >&2
  exit 2
fi
data=$1 backups=$2 keep=$3
fathom=${FATHOM:-/opt/fathom/fathom}
new=$backups/.new

mkdir -p "$backups"
# What a run that was broken off has left.
rm -rf "$new"
"$fathom" backup --data "$data" --out "$new"
"$fathom" check --data "$new"
name=$(date -u +%Y%m%dT%H%M%S.%3NZ)
mv "$new" "$backups/$name"
sync "$backups"

# By their names, whatever else lies there; never the new one, even if the clock was ahead once.
ls "$backups" | grep -E '^[0-9]{8}T[0-9]{6}\.[0-9]{3}Z$' | grep -vxF "$name" | sort -r |
  tail -n +"$keep" | while read -r old; do rm -rf "${backups:?}/$old"; done
