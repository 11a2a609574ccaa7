#!/bin/sh
# The launcher: finds the program profrun, in the build tree or where it was installed, and runs it
# with the same arguments.
#   profrun.sh [options] [--] CMD [ARG...]
#   profrun.sh report|whatif|diff|merge|export|info|open|trigger|top|env ...
self=$0
case $self in */*) ;; *) self=$(command -v -- "$self") ;; esac
while [ -h "$self" ]; do
	link=$(readlink -- "$self")
	case $link in /*) self=$link ;; *) self=${self%/*}/$link ;; esac
done
here=$(CDPATH='' cd -- "${self%/*}" && pwd -P) || exit 1

for home in "$here/build" "$here/../lib/profrun"; do
	[ -x "$home/profrun" ] && exec "$home/profrun" "$@"
done
case ${1--h} in
-h | --help | help)
	echo "usage: profrun.sh [options] [--] CMD [ARG...]"
	echo "       profrun.sh report|whatif|diff|merge|export|info|open|trigger|top|env [...]"
	echo "Nothing is built yet: run 'make' in $here. Then --help lists all options."
	exit 0
	;;
esac
echo "profrun.sh: nothing is built yet: run 'make' in $here" >&2
exit 1
