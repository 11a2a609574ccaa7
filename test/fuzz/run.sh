#!/bin/sh
# Feeds the readers of build/fuzz/fuzz for SECONDS in all. The journal's three readers get half of
# the time. Prints for each reader how many inputs it took and how many places of the code these
# reached. Exit status 1 if a reader crashed, leaked memory, or took more than TIMEOUT_S for one
# input; such an input is kept in build/fuzz/found. What the fuzzer learns stays in
# build/fuzz/corpus and makes the next run start there.
# usage: test/fuzz/run.sh SECONDS [READER]...
cd "$(dirname "$0")/../.." || exit 1
seconds=${1:-60}
[ $# = 0 ] || shift
fuzzer=build/fuzz/fuzz
found=build/fuzz/found
TIMEOUT_S=20
# Journals that are read reach 10,000 places, those that are refused 60.
LEAST_OF_JOURNALS=1000
status=0
mkdir -p "$found"
# Journals have no limit of their own on what they may make the tool allocate; the limit is what a
# machine with little memory has.
limits="-timeout=$TIMEOUT_S -rss_limit_mb=2048"

count() { # PATTERN: prints the value in the last line of the log with it
	sed -n "s/.*$1[: ]*\([0-9]*\).*/\1/p" "$log" | tail -n 1
}

feed() { # READER CORPUS SECONDS
	corpus=$2
	learned=build/fuzz/corpus/$2
	seeds=test/fuzz/corpus/$2
	log=build/fuzz/$1.log
	mkdir -p "$learned"
	set -- "$1" "$3" "$learned"
	[ ! -d "$seeds" ] || set -- "$@" "$seeds"
	reader=$1
	time_s=$2
	shift 2
	# shellcheck disable=SC2086
	if FUZZ=$reader "$fuzzer" $limits -max_total_time="$time_s" -print_final_stats=1 \
		-artifact_prefix="$found/$reader-" "$@" >"$log" 2>&1; then
		outcome=ok
	else
		outcome=FAILED
		status=1
	fi
	if [ "$corpus" = journal ] && [ "$(count cov)" -lt "$LEAST_OF_JOURNALS" ]; then
		echo "fuzz: $reader refuses the journals: run test/fuzz/make_corpus.sh"
		status=1
	fi
	printf '%-6s %-9s %8s executions in %s s, coverage %s\n' "$outcome" "$reader" \
		"$(count number_of_executed_units)" "$time_s" "$(count cov)"
	[ "$outcome" = ok ] || tail -n 60 "$log"
}

readers=$(FUZZ=list "$fuzzer") || exit 1
if [ $# -gt 0 ]; then
	wanted=" $* "
	readers=$(echo "$readers" | while read -r reader corpus; do
		case $wanted in *" $reader "*) echo "$reader $corpus" ;; esac
	done)
fi
n_journal=$(echo "$readers" | grep -c ' journal$')
n_other=$(echo "$readers" | grep -vc ' journal$')
of_journal=$seconds
[ "$n_other" = 0 ] || of_journal=$((seconds / 2))
while read -r reader corpus; do
	if [ "$corpus" = journal ]; then
		share=$((of_journal / n_journal))
	else
		share=$((seconds - (n_journal > 0 ? of_journal : 0)))
		share=$((share / n_other))
	fi
	feed "$reader" "$corpus" $((share > 0 ? share : 1))
done <<EOF
$readers
EOF
exit $status
