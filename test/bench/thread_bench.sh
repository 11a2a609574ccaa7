#!/bin/sh
# What a thread that makes ten CUDA calls costs.
# usage: thread_bench.sh BUILD
# shellcheck source=test/bench/common.sh
. "$(dirname "$0")/common.sh"
bench=$build/test/bench/thread_bench

printf '%-34s %7s %7s %7s %7s %7s\n' 'a new thread (us of CPU)' bare hooked added budget ratio
run PROF_SCHEDULE=off "$bench" 'off' 5 "$library"
run PROF_SCHEDULE=off PROF_LAUNCHED=1 "$bench" 'off, may be triggered' 5 "$library"
run PROF_OPENING=off PROF_SCHEDULE=skip_first=1000000000,active=1 "$bench" 'learning steps' 10 \
	"$library"
run PROF_SCHEDULE=always PROF_CUPTI=off PROF_STEP=graph "$bench" 'active, no GPU timing' 100 \
	"$library"
