# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts in tools/: sourced, with $root set to the top of the checkout. Plain sh (Debian's is dash).
# shellcheck shell=sh disable=SC2034,SC2154
LANG=C.UTF-8 # the only UTF-8 locale that a fresh machine has
export LANG
unset LC_ALL CDPATH

deps=$root/deps
logs=$deps/log

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
  bold=$(printf '\033[1m') red=$(printf '\033[31m') green=$(printf '\033[32m') plain=$(printf '\033[0m')
  erase=$(printf '\r\033[K')
else
  bold='' red='' green='' plain='' erase=''
fi

say() { printf '%s\n' "$*"; }
now() { date +%s; }
started_at=$(now)

# "3m07s" or "12s"
duration() {
  if [ "$1" -ge 60 ]; then printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); else printf '%ds' "$1"; fi
}

# fail WHAT [THE WAY OUT]
fail() {
  printf '%serror:%s %s\n' "$red" "$plain" "$1" >&2
  if [ -n "${2:-}" ]; then printf 'hint: %s\n' "$2" >&2; fi
  exit 1
}

heading() {
  printf '\n%s== %s%s  [%s]\n' "$bold" "$1" "$plain" "$(duration $(($(now) - started_at)))"
}

# wrong_usage WHAT: for arguments that cannot be understood; the script's own usage follows.
wrong_usage() {
  printf '%serror:%s %s\n\n' "$red" "$plain" "$1" >&2
  usage >&2
  exit 2
}

# Ends a process and all that it has started; parents first, so that they start nothing more. What runs through sudo is
# another user's.
end_tree() {
  et_children=$(cat "/proc/$1/task/$1/children" 2>/dev/null || true)
  kill "$1" 2>/dev/null || sudo -n kill "$1" 2>/dev/null || true
  for et_child in $et_children; do (end_tree "$et_child"); done
}

# fail_after LOG WHAT [THE WAY OUT [ANOTHER LOG]]: after a command of with_progress; what its log says about the reason
# goes first.
fail_after() {
  fa_log=$1 fa_other=${4:-$1}
  log_says() { grep -q -i "$@" "$fa_log" "$fa_other" 2>/dev/null; }
  if log_says -e 'no space left' -e 'enough free space' -e 'disk quota'; then
    fail "$2" "the disk is full (df -h . /var /tmp): packages take about 1.5 GB, deps/ 0.5 GB, a build up to 1 GB"
  elif log_says -e 'temporary failure resolving' -e 'name resolution' -e 'could not connect' -e 'network is unreachable'; then
    fail "$2" "is there a network? Where it needs a proxy: export http_proxy and https_proxy"
  elif log_says -e 'could not get lock'; then
    fail "$2" "another program is installing packages: once it has ended, the same command again"
  fi
  fail "$2" "${3:-the whole of it: $fa_log}"
}

# Everything that is fetched and built stands in the checkout.
need_writable_checkout() {
  if mkdir -p "$logs" 2>/dev/null && [ -w "$root" ] && [ -w "$deps" ] && [ -w "$logs" ]; then return; fi
  fail "$root cannot be written to by $(id -un)" "what is fetched and built goes there: use a clone in a folder of your own"
}

# with_progress LABEL LOG COMMAND...  Runs a chatty command with its words in a log: a terminal sees the last of them
# move, a file gets a line every 15 s, and a failure shows the log's end.
with_progress() {
  wp_label=$1 wp_log=$2
  shift 2
  need_writable_checkout
  wp_start=$(now) wp_told=0
  printf '  %s ...\n' "$wp_label"
  "$@" >"$wp_log" 2>&1 &
  wp_pid=$!
  # A background child of a script ignores Ctrl-C: pass it on to all of it, and leave nothing running behind the prompt.
  trap 'trap "" INT TERM; end_tree "$wp_pid"; wait "$wp_pid" 2>/dev/null || true; printf "%s    interrupted\n" "$erase"; exit 130' INT TERM
  while kill -0 "$wp_pid" 2>/dev/null; do
    wp_spent=$(($(now) - wp_start))
    if [ -n "$erase" ]; then
      printf '%s    %s  %.90s' "$erase" "$(duration "$wp_spent")" "$(tail -n 1 "$wp_log" | tr -d '\r\033' | cut -c 1-90)"
    elif [ $((wp_spent / 15)) -gt "$wp_told" ]; then
      wp_told=$((wp_spent / 15))
      printf '    %s  %s\n' "$(duration "$wp_spent")" "$(tail -n 1 "$wp_log" | cut -c 1-90)"
    fi
    sleep 0.2
  done
  trap - INT TERM
  printf '%s' "$erase"
  if wait "$wp_pid"; then
    printf '    done in %s\n' "$(duration $(($(now) - wp_start)))"
  else
    printf '    failed; the end of %s:\n' "$wp_log"
    tail -n 25 "$wp_log" | cut -c 1-300 | sed 's/^/    | /' # cut also ends a last line that a full disk left open
    return 1
  fi
}

# The whole part of a compiler's version: gcc_major g++ -> 12 (0 when it is not there).
gcc_major() {
  if command -v "$1" >/dev/null 2>&1; then "$1" -dumpversion | cut -d. -f1; else echo 0; fi
}

# Puts what tools/setup fetched in front, and picks g++ 12 where the distribution's default is older.
use_environment() {
  if [ -d "$deps/tools/bin" ]; then PATH=$deps/tools/bin:$PATH; fi
  if [ -z "${CXX:-}" ] && [ "$(gcc_major g++)" -lt 12 ] && command -v g++-12 >/dev/null 2>&1; then
    CC=gcc-12 CXX=g++-12 CUDAHOSTCXX=g++-12
    export CC CXX CUDAHOSTCXX
  fi
  export PATH
  # ccache refuses to compile where it cannot write: a container's user often has no home.
  if [ -z "${CCACHE_DIR:-}${XDG_CACHE_HOME:-}" ] && ! [ -w "${HOME:-/nonexistent}" ]; then
    CCACHE_DIR=$root/build/ccache
    export CCACHE_DIR
  fi
}

# configure PRESET: shows what was found, and everything when it fails. A build folder that refuses (a moved checkout,
# another toolkit) is begun anew, once.
configure() {
  cf_log=build/$1-configure.log cf_was_there=no
  mkdir -p build
  if [ -e "build/$1/CMakeCache.txt" ]; then cf_was_there=yes; fi
  if ! cmake --preset "$1" >"$cf_log" 2>&1; then
    if [ $cf_was_there = no ]; then cat "$cf_log" && return 1; fi
    say "  build/$1 does not fit any more; configuring it from nothing"
    cmake --fresh --preset "$1" >"$cf_log" 2>&1 || { cat "$cf_log" && return 1; }
  fi
  sed -n '/^-- tidemark /,/^-- Configuring/{/^-- Configuring/d;s/^-- /  /;p;}' "$cf_log"
}

# build PRESET [ARGUMENTS]
build() {
  cmake --build --preset "$@" --parallel "${TIDEMARK_JOBS:-$(nproc)}"
}
