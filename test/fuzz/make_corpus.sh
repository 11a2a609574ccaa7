#!/bin/sh
# Makes test/fuzz/corpus/journal anew, with the simulated GPU. Needed when the layout of a journal
# changes: profrun refuses journals of another layout, and the fuzzer would not get past that.
# usage: test/fuzz/make_corpus.sh (after `make all prog`)
cd "$(dirname "$0")/../.." || exit 1
programs=build/test/prog
to=test/fuzz/corpus/journal
made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
status=0

make_one() { # NAME COMMAND...
	name=$1
	shift
	./profrun.sh --sim --quiet -o "$made/$name" "$@" >"$made/$name.log" 2>&1
	# shellcheck disable=SC2012 # the names are those of processes
	journal=$(ls -S "$made/$name"/journal/*.journal 2>/dev/null | head -n 1)
	if [ -z "$journal" ]; then
		echo "make_corpus: no journal of $name:" >&2
		tail -n 3 "$made/$name.log" >&2
		status=1
		return
	fi
	python3 test/fuzz/compact.py "$journal" "$to/$name" || status=1
}

export PROF_SCHEDULE=always
make_one loop "$programs/loop" 6
make_one nvtx "$programs/nvtx" steps 4
make_one libraries "$programs/libraries" plt
make_one blocks "$programs/c10_main" "$programs/c10_new/user.so" 6 2
make_one threads "$programs/threads" late
make_one graphs "$programs/graph_nodes" twice 4
make_one host python3 test/prog/host_work.py 3
make_one python_steps python3 test/prog/python_steps.py 6 3
make_one raises python3 test/prog/raises.py
PROF_SCHEDULE=flight=4 make_one flight "$programs/loop" 20
PROF_STEP=kernel:first
PROF_SCHEDULE=skip_first=4,wait=2,warmup=1,active=2,repeat=2
export PROF_STEP PROF_SCHEDULE
make_one schedule "$programs/loop" 20
exit $status
