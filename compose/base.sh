#!/bin/sh
# Makes a base image from Debian's packages, for where no registry can be reached:
#
#     compose/base.sh [IMAGE]                 (default: tipover-base)
#     BASE=tipover-base docker compose -f compose/compose.yaml -f compose/offline.yaml build
#
# Needs root, docker, and mmdebstrap or debootstrap. MIRROR is a Debian mirror (default: the tool's own), SUITE
# the release (default: bookworm, whose Python is 3.11).
set -eu
image=${1:-tipover-base}
suite=${SUITE:-bookworm}
packages=python3,python3-venv,python3-pip,ca-certificates
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

if command -v mmdebstrap >/dev/null; then
  mmdebstrap --quiet --variant=minbase --include="$packages" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    "$suite" "$made/base.tar" ${MIRROR:+"$MIRROR"}
elif command -v debootstrap >/dev/null; then
  debootstrap --variant=minbase --include="$packages" "$suite" "$made/root" ${MIRROR:+"$MIRROR"} >&2
  rm -rf "$made/root/var/cache/apt/archives" "$made/root/var/lib/apt/lists"
  mkdir -p "$made/root/var/cache/apt/archives/partial" "$made/root/var/lib/apt/lists/partial"
  tar -C "$made/root" -cf "$made/base.tar" .
else
  echo "compose/base.sh needs mmdebstrap or debootstrap" >&2
  exit 1
fi
docker import --change 'ENV LANG=C.UTF-8' --change 'CMD ["python3"]' "$made/base.tar" "$image" >/dev/null
echo "$image"
