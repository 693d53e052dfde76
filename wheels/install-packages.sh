#!/usr/bin/env bash
# Installs system packages where that is possible (apt-get, as root or by a sudo that asks nothing); else names the command.
# Usage: install-packages.sh PACKAGE...
set -euo pipefail

if ! command -v apt-get >/dev/null; then
    echo "error: install these with your system's package manager, then try again: $*" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
else
    echo "error: system packages are missing. Install them, then try again: sudo apt-get install -y $*" >&2
    exit 1
fi
echo "installing system packages: $*"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$@" >/dev/null
