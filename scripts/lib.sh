# shellcheck shell=bash
# Shared by the scripts beside it: strict mode, the repository's root as the current folder, a few words.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# rustup puts cargo there, and not every shell has read the profile that says so.
PATH="$PATH:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin"

# Where cargo builds to: here, whatever the shell says, since the settings name the plugins below this folder.
target=target
export CARGO_TARGET_DIR=$target

# say WORDS...: tells what happens next.
say() {
  printf '\n==> %s\n' "$*" >&2
}

# die WORDS...: ends the script with a plain sentence.
die() {
  printf '\n%s\n' "$*" >&2
  exit 1
}

# explain ARGUMENT...: if the first one asks for help, prints the comment that the script begins with, and ends.
explain() {
  case ${1:-} in
    -h | --help)
      sed -n '/^#!/d; /^# shellcheck/d; /^#/!q; s/^# \{0,1\}//p' "scripts/${0##*/}"
      exit
      ;;
  esac
}

# plugin_folders FOLDER...: those of the folders that hold a crate.
plugin_folders() {
  local folder
  for folder in "$@"; do
    [ ! -f "$folder/Cargo.toml" ] || printf '%s\n' "$folder"
  done
}

# npm_packages: installs the npm packages of tests/js's lock file, unless they are there already. Their scripts do not run.
npm_packages() (
  cd tests/js
  cmp --quiet package-lock.json node_modules/.installed && return
  npm ci --ignore-scripts --no-audit --no-fund
  cp package-lock.json node_modules/.installed
)

# npm_command NAME ARGUMENT...: runs a command of those packages.
npm_command() {
  local name=$1
  shift
  "tests/js/node_modules/.bin/$name" "$@"
}
