#!/bin/sh
# Installs into /opt/tipover, inside the image's build: `requirements` first (a layer that lasts as long as the
# pins do), then the `package` itself.
#
# What is wanted is said in pyproject.toml and which version in requirements.lock, which serves as constraints:
# so the packages for development stay out, and no second list can fall behind.
set -eu
settings=/etc/tipover-pip
if [ -f "$settings/pip.conf" ]; then export PIP_CONFIG_FILE="$settings/pip.conf"; fi
if [ -f "$settings/ca-certificates.crt" ]; then export PIP_CERT="$settings/ca-certificates.crt"; fi
# The build back end is pinned by the same file.
export PIP_CONSTRAINT="$PWD/requirements.lock" PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
into() { python3 -m pip --quiet --python /opt/tipover/bin/python install "$@"; }

case $1 in
  requirements)
    python3 -m venv --without-pip /opt/tipover
    python3 -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' > wanted.txt
    into -r wanted.txt
    # The packages' own tests and C headers are a fifth of their size, and no one runs them here.
    find /opt/tipover/lib -depth -type d \( -name tests -o -name test -o -name include \) \
      -path '*/site-packages/*' -exec rm -rf {} +
    ;;
  package) into --no-deps . ;;
esac
