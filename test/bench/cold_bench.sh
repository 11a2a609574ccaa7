#!/bin/sh
# What a launch adds in a program that has used the caches since the last launch.
# usage: cold_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"
bench=$build/test/bench/cold_bench

state() { # settings, command
	run LD_PRELOAD="$library" "$@"
}

printf '%-34s %7s\n' 'launch with cold caches (ns)' added
state PROF_SCHEDULE=off "$bench" disarmed
state PROF_OPENING=off \
	PROF_SCHEDULE=skip_first=1000000000,active=1 "$bench" 'disarmed, steps counted' lock
state PROF_OPENING=off \
	PROF_SCHEDULE=skip_first=1000000000,active=1 "$bench" 'learning steps'
state PROF_SCHEDULE=always PROF_CUPTI=off PROF_STEP=graph PROF_STACKS=none \
	"$bench" 'active, no stack, no GPU timing'
state PROF_SCHEDULE=always PROF_CUPTI=off PROF_STEP=graph "$bench" 'active, with its stack'
