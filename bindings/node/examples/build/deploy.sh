#!/bin/sh
# deploy.sh FOLDER: packs FOLDER/dist into FOLDER/package.tar, while no process builds it.
set -eu
if [ "${1-}" != --inside ]; then
    [ $# = 1 ] || { echo "usage: deploy.sh FOLDER" >&2; exit 64; }
    # The command creates its locks with the death policy release, as build.js asks for.
    exec turnlock run --timeout 60 --lock dist "$1/build.lock" "$0" --inside "$1"
fi
cd "$2"
[ -e dist/manifest ] || { echo "deploy.sh: nothing is built yet"; exit 0; }
parts=$(find dist -name 'part-*' | wc -l)
if [ "$parts" != "$(cat dist/manifest)" ]; then
    echo "deploy.sh: dist has $parts parts, and not $(cat dist/manifest): another process builds it" >&2
    exit 1
fi
tar -cf package.tar dist
echo "deploy.sh: packed $parts parts"
