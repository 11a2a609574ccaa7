# shellcheck shell=sh
# Sourced by the benchmarks that are called with BUILD. Sets `build` to its absolute path, `library`
# to the library in it, and `out` to a folder that is removed at the end.
set -e
build=$(cd "$1" && pwd)
# shellcheck disable=SC2034 # used by scripts that source this
library=$build/libprofrun.so
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# Runs a command with a journal of its own. The arguments are those of env.
run() {
	PROF_OUT="$out/run" PROF_BUFFER_MB=1024 PROF_LOG=error env "$@"
	rm -rf "$out/run"
}
