# Sourced by the other scripts, from the repository's root: what building and testing share.
jobs=${MCC_JOBS:-$(nproc)}
# ccache shares results between clones in different places.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

say() { echo "${0##*/}: $*"; }

# build PRESET [TARGET...]: configures (with the .venv's CMake) and builds; quiet unless it fails.
build() {
  local preset=$1 log=build/$1.log
  shift
  mkdir -p build
  say "building ($preset)"
  .venv/bin/cmake --preset "$preset" -DPython3_EXECUTABLE="$PWD/.venv/bin/python" > "$log" 2>&1 || {
    tail -n 30 "$log" >&2
    return 1
  }
  if [ -t 1 ]; then
    nice .venv/bin/cmake --build "build/$preset" -j "$jobs" ${1:+--target "$@"}
  else
    nice .venv/bin/cmake --build "build/$preset" -j "$jobs" ${1:+--target "$@"} > "$log" 2>&1 || {
      grep -aE -A 12 'error|FAILED' "$log" | head -n 80 >&2
      return 1
    }
  fi
}
