#!/bin/sh
# Tries the whole product on Debian 13 with Node 24: builds docs/deploy/Dockerfile step by step without
# Docker, runs tests in the build stage, then serves the demo from the finished image. Needs root,
# debootstrap, and the package sources of this machine's apt and npm. Not part of `npm test`.
#
#   test/debian13.sh [TEST...]    the test files to run; 'none' runs none
#
#   WORK    where the roots are kept; a base that is there is used again (default: /tmp/fathom-debian13)
#   MIRROR  of Debian's packages (default: that of this machine's apt)
#   NODE    version of Node (default: 24)
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- test/http test/api test/cli/serve.test.ts test/replay test/storage/database.test.ts
[ "$1" != none ] || shift
tests=$*
work=${WORK:-/tmp/fathom-debian13}
base=$work/base
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)}
arch=$(node -p process.arch)
mkdir -p "$work"

# A command in a root, with its own processes and mounts: none of them is left behind.
# shellcheck disable=SC2016
in_root() {
  root=$1 user=$2
  shift 2
  unshare --mount --pid --fork --kill-child sh -eu -c '
    root=$1 user=$2; shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec chroot --userspec="$user" "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"
  ' - "$root" "$user" "$@"
}

if [ ! -e "$base/.complete" ]; then
  echo "--- Debian 13 and Node ${NODE:-24} in $base"
  rm -rf "$base"
  debootstrap --variant=minbase --include=ca-certificates trixie "$base" "$mirror" >"$work/debootstrap.log"
  # The names of packages and the certificates that this machine reaches them by.
  cp -L /etc/resolv.conf /etc/hosts "$base/etc/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/"
  npm install --prefix "$base/opt/node" --no-audit --no-fund --no-save --loglevel=error --force \
    "node-linux-$arch@${NODE:-24}" npm@11
  ln -s "/opt/node/node_modules/node-linux-$arch/bin/node" "$base/usr/local/bin/node"
  ln -s /opt/node/node_modules/npm/bin/npm-cli.js "$base/usr/local/bin/npm"
  ln -s /opt/node/node_modules/npm/bin/npx-cli.js "$base/usr/local/bin/npx"
  printf 'registry=%s\ncafile=/etc/ssl/certs/ca-certificates.crt\n' "$(npm config get registry)" >"$base/root/.npmrc"
  touch "$base/.complete"
fi
in_root "$base" 0:0 sh -c 'echo "Debian $(cat /etc/debian_version), $(ldd --version | head -n 1), Node $(node --version)"'

# The Dockerfile's instructions, one a line.
instructions() {
  sed -e :a -e '/\\$/N; s/\\\n//; ta' docs/deploy/Dockerfile | grep -v '^#'
}
# docs/deploy/Dockerfile.dockerignore leaves out what git does not track, and a little more.
context=$work/context
rm -rf "$context" "$work/build" "$work/image"
mkdir "$context"
git ls-files -z | tar --create --null --files-from=- | tar --extract --directory="$context"

variables=
instructions >"$work/instructions"
while read -r instruction rest; do
  case $instruction in
  FROM)
    case $rest in *' AS build') stage=$work/build ;; *) stage=$work/image ;; esac
    cp -a --reflink=auto "$base" "$stage"
    directory=/
    ;;
  WORKDIR) directory=$rest && mkdir -p "$stage$rest" ;;
  COPY)
    from=$context/
    case $rest in --from=build*) from=$work/build rest=${rest#--from=build } ;; esac
    to=$stage$directory/${rest##* }
    for source in ${rest% *}; do
      if [ -d "$from$source" ]; then mkdir -p "$to" && cp -a "$from$source/." "$to"; else cp -a "$from$source" "$to"; fi
    done
    ;;
  RUN)
    echo "--- RUN $rest"
    in_root "$stage" 0:0 sh -eu -c "cd $directory && $rest" </dev/null
    if [ "$rest" = 'npm run build' ] && [ -n "$tests" ]; then
      echo "--- tests: $tests"
      # shellcheck disable=SC2086
      in_root "$stage" 0:0 sh -eu -c "cd $directory && npx vitest run $tests" </dev/null
    fi
    ;;
  USER) user=$rest ;;
  ENV) variables=$rest ;;
  ENTRYPOINT) entry=$(echo "$rest" | tr -d '[]",') ;;
  HEALTHCHECK) health=${rest#*CMD } ;;
  esac
done <"$work/instructions"
echo "image: $(du -sm "$stage" "$base" | awk '{ print $1 }' | paste -s -d ' ' | awk '{ print $1 - $2 }') MiB beside Debian and Node"

echo "--- the image as $user: demo, server, pages, scores, end"
cat >"$stage/ask.mjs" <<'JS'
const api = `http://127.0.0.1:${process.env.FATHOM_PORT}/api/v1`;
const headers = { 'x-api-key': process.argv[2] };
const mint = 'So11111111111111111111111111111111111111112';
for (const path of ['/top-scores', `/score/${mint}`, `/market-depth?token_address=${mint}`, `/replay/${mint}`]) {
  const reply = await fetch(api + path, { headers });
  const text = await reply.text();
  console.log(reply.status, path, text.length, 'characters', text.slice(0, 100));
  if (reply.status !== 200) process.exitCode = 1;
}
JS
# shellcheck disable=SC2086
in_root "$stage" "$user" env $variables sh -eu -c "
  cd $directory
  key=\$($entry demo --json | node -p 'JSON.parse(fs.readFileSync(0)).key')
  $entry serve & server=\$!
  for try in 1 2 3 4 5 6 7 8 9; do sleep 1; node \"\$@\" && break; done
  node /ask.mjs \$key
  ls -ld /data /data/*
  kill -TERM \$server && wait \$server
  echo 'the product works on Debian 13'
" - -e "$(echo "$health" | node -p 'JSON.parse(fs.readFileSync(0)).at(-1)')"
