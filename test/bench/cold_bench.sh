#!/bin/sh
# What a launch adds whose program has used the caches since the last one: usage cold_bench.sh BUILD
set -e
build=$(cd "$1" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

state() { # name, settings...
	name=$1
	shift
	env PROF_OUT="$out/run" PROF_BUFFER_MB=1024 PROF_LOG=error "$@" LD_PRELOAD="$build/libprofrun.so" "$build/test/bench/cold_bench" "$name"
	rm -rf "$out/run"
}

printf '%-34s %7s\n' 'launch with cold caches (ns)' added
state disarmed PROF_SCHEDULE=off
state 'learning steps' PROF_SCHEDULE=skip_first=1000000000,active=1
state 'active, no stack, no GPU timing' PROF_SCHEDULE=always PROF_CUPTI=off PROF_STEP=graph PROF_STACKS=none
state 'active, with its stack' PROF_SCHEDULE=always PROF_CUPTI=off PROF_STEP=graph
