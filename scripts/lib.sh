# shellcheck shell=bash
# The common parts of the scripts in this folder: strict mode, the repository's root as the current folder, functions.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# rustup installs cargo there, and some shells have not read the profile that adds it.
PATH="$PATH:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin"

# The output folder of cargo. It replaces the shell's value, because the settings name the plugins below this folder.
target=target
export CARGO_TARGET_DIR=$target

# say WORDS...: prints the next step.
say() {
  printf '\n==> %s\n' "$*" >&2
}

# die WORDS...: ends the script with a plain sentence.
die() {
  printf '\n%s\n' "$*" >&2
  exit 1
}

# explain ARGUMENT...: if the first argument requests help, prints the comment at the head of the script, and exits.
explain() {
  case ${1:-} in
    -h | --help)
      sed -n '/^#!/d; /^# shellcheck/d; /^#/!q; s/^# \{0,1\}//p' "scripts/${0##*/}"
      exit
      ;;
  esac
}

# plugin_folders FOLDER...: prints the folders that contain a crate.
plugin_folders() {
  local folder
  for folder in "$@"; do
    [ ! -f "$folder/Cargo.toml" ] || printf '%s\n' "$folder"
  done
}

# The background commands: the process of each, and the file with its output.
declare -A beside_output=()

# beside COMMAND...: runs a command in the background. Most of these wait for the network.
beside() {
  local output
  output=$(mktemp)
  "$@" >"$output" 2>&1 &
  beside_output[$!]=$output
}

# joined: waits for the background commands, and prints their output. Ends the script if one failed.
joined() {
  local process failed=
  for process in "${!beside_output[@]}"; do
    wait "$process" || failed=1
    cat "${beside_output[$process]}" >&2
    rm "${beside_output[$process]}"
  done
  beside_output=()
  [ -z "$failed" ] || die "A check failed, see above."
}

# npm_packages: installs the npm packages of tests/js's lock file, unless they are installed already. Their scripts do
# not run.
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
