#!/bin/sh
# fathom-backup.sh DATA BACKUPS KEEP: copies the store in DATA to a new folder in BACKUPS, checks the copy, and
# then removes all but the newest KEEP copies there. If anything fails, the existing copies stay.
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
# Left by an interrupted run.
rm -rf "$new"
"$fathom" backup --data "$data" --out "$new"
"$fathom" check --data "$new"
name=$(date -u +%Y%m%dT%H%M%S.%3NZ)
mv "$new" "$backups/$name"
sync "$backups"

# Selects backups by name and ignores other files. Never removes the new one, even if the clock was once ahead.
ls "$backups" | grep -E '^[0-9]{8}T[0-9]{6}\.[0-9]{3}Z$' | grep -vxF "$name" | sort -r |
  tail -n +"$keep" | while read -r old; do rm -rf "${backups:?}/$old"; done
