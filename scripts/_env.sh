# Sourced by the scripts beside it: finds Python and uv, and prepares .venv. Needs Python >= 3.11 and nothing else.
# shellcheck shell=bash

UV_VERSION=0.13.7 # the one place; another version on PATH is left alone, so that every machine resolves alike

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"

say() { printf -- '-- %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# The comment at the top of a script is its help.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

find_python() {
  local name
  for name in python3 python python3.14 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      "$name" -c 'import sys; print(sys.executable)'
      return
    fi
  done
  die "no Python >= 3.11 on PATH; install one and run this again"
}

is_our_uv() { [ "$("$1" --version 2>/dev/null | cut -d' ' -f2)" = "$UV_VERSION" ]; }

install_uv() {
  local python
  python=$(find_python) || exit 1
  say "installing uv $UV_VERSION into .tools"
  rm -rf "$ROOT/.tools/uv"
  "$python" -m venv "$ROOT/.tools/uv" >&2 ||
    die "\`$python -m venv\` failed; install the venv module of this Python (python3-venv on Debian)"
  "$ROOT/.tools/uv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION" >&2 ||
    die "could not install uv $UV_VERSION; is the package index reachable?"
}

# Everything a check needs: all packages, editable, with the development tools.
prepare() {
  say "preparing .venv"
  # An uv.lock from before the last scripts/lock would hold the old versions in place.
  [ uv.lock -nt requirements.lock ] || rm -f uv.lock
  [ -x .venv/bin/python ] || export UV_PYTHON="${UV_PYTHON:-$(find_python)}"
  # Of .venv, everything; of the environments that tests make, what is imported: compiling all of each takes 4 s and more.
  "$UV" sync --all-packages --compile-bytecode --quiet ||
    die "uv could not prepare .venv; its message is above. If it is about a certificate, set UV_SYSTEM_CERTS=1"
}

# No test takes a tenth of the time after which it counts as hanging, on a busy machine of two cores either.
run_tests() { .venv/bin/python -m pytest -q -n 2 --dist=loadgroup --timeout=300 --inline-snapshot=disable "$@"; }

# Runs a module of scripts/checks.
run_check() { PYTHONPATH="$ROOT/scripts" .venv/bin/python -m "checks.$1" "${@:2}"; }

case "${1:-}" in
  -h | --help) usage && exit 0 ;;
esac

unset VIRTUAL_ENV
export UV_PYTHON_DOWNLOADS=never UV_NO_PROGRESS=1 UV_PROJECT_ENVIRONMENT="$ROOT/.venv"
# Without bytecode every process compiles its imports again, and pytest every test: to collect those of core and runtime
# takes 11.7 s of CPU instead of 5.8 s, `import toolcrib_mcp.serving` 2.0 s instead of 1.5 s.
unset PYTHONDONTWRITEBYTECODE

UV=$(command -v uv || true)
if ! is_our_uv "$UV"; then
  UV="$ROOT/.tools/uv/bin/uv"
  is_our_uv "$UV" || install_uv
fi
export UV
