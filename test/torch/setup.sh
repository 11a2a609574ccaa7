#!/bin/sh
# Makes a virtual environment with the unmodified CUDA wheel of PyTorch, once: about one minute and
# 5.4 GB. Adds the packages that test/torch/users/ is built on, half a minute more. A package that
# cannot be installed is no failure: its tests are skipped.
# Usage: setup.sh [DIR]   (default build/torch-venv next to the Makefile)
# Exit status: 0 the environment is there; 77 it cannot be made here (one line says why), so that a
# test is skipped.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${1:-$root/build/torch-venv}
need_gb=12
# A line each, installed one after the other, with the torch that is there.
packages="transformers>=5,<6 accelerate>=1,<2
torchvision
timm>=1,<2
lightning>=2.6,<3"

skip() {
	echo "torch-venv: $*; PyTorch tests are skipped" >&2
	exit 77
}

# .packages holds the list that was installed last.
users_packages() {
	[ "$(cat "$dir/.packages" 2>/dev/null)" = "$packages" ] && return
	log=$dir.log
	"$dir/bin/python" -m pip freeze 2>>"$log" | grep -i '^torch==' >"$dir/.torch" || return
	while read -r line; do
		echo "torch-venv: installing $line" >&2
		# shellcheck disable=SC2086
		"$dir/bin/python" -m pip install --disable-pip-version-check -q --retries 1 \
			-c "$dir/.torch" $line >>"$log" 2>&1 || {
			echo "torch-venv: no $line that goes with this torch, see $log;" \
				"its tests are skipped" >&2
			left_out=1
		}
	done <<-LIST
		$packages
	LIST
	[ -n "${left_out:-}" ] || printf '%s\n' "$packages" >"$dir/.packages"
}

if [ -f "$dir/.complete" ]; then
	users_packages
	exit 0
fi

python=
for candidate in ${TORCH_PYTHON:-} python3.11 python3.12 python3.13 python3.10 python3; do
	if "$candidate" -c 'import sys, venv, ensurepip
sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
		python=$candidate
		break
	fi
done
[ -n "$python" ] || skip "no Python 3.10 to 3.13 with venv found (Debian: python3-venv)"
[ "$(uname -m)" = x86_64 ] || skip "the stand-ins are built for x86-64 only"

mkdir -p "$(dirname "$dir")"
free_gb=$(df -Pk "$(dirname "$dir")" | awk 'NR == 2 { print int($4 / 1048576) }')
[ "$free_gb" -ge "$need_gb" ] || skip "$need_gb GB of free disk needed, $free_gb there"

log=$dir.log
rm -rf "$dir"
echo "torch-venv: installing PyTorch's CUDA wheel into $dir (5.4 GB, log in $log)" >&2
"$python" -m venv "$dir" >"$log" 2>&1 || skip "venv failed, see $log"
"$dir/bin/python" -m pip install --disable-pip-version-check -q torch numpy >>"$log" 2>&1 ||
	skip "pip could not install torch, see $log"
"$dir/bin/python" - >>"$log" 2>&1 <<'PY' || skip "the wheel from PyPI is not a CUDA build"
import importlib.metadata as m
import sys
names = {d.metadata["Name"].lower() for d in m.distributions()}
sys.exit(not any(n.startswith("nvidia-cuda-runtime") for n in names))
PY
touch "$dir/.complete"
users_packages
exit 0
