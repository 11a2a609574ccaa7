"""The CPU time that preloaded libraries add to a shell's child that runs /bin/true.

usage: child_bench.py ROUNDS LIBRARY EMPTY

Prints the median, the quartiles and the lowest of the differences between rounds in turn. CPU time,
unlike the time of the clock, depends little on other load.
"""
import os
import resource
import statistics
import subprocess
import sys

CHILDREN = 500
LOOP = f"for ((i = 0; i < {CHILDREN}; i++)); do /bin/true; done"


def cpu_ms(library):
    """Returns the CPU time per child, the shell's part included."""
    def used_s():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    before_s = used_s()
    subprocess.run(["bash", "-c", LOOP], env={**env, **library}, check=True)
    return (used_s() - before_s) * 1000 / CHILDREN


def main():
    rounds, libraries = int(sys.argv[1]), sys.argv[2:]
    bare, added = [], {library: [] for library in libraries}
    for _ in range(rounds):
        bare.append(cpu_ms({}))
        for library in libraries:
            added[library].append(cpu_ms({"LD_PRELOAD": library}) - bare[-1])
    print(f"\na child of a shell: {statistics.median(bare):.3f} ms of CPU time; added, median "
          "(quartiles; difference of the fastest rounds):")
    for library in libraries:
        low, middle, high = statistics.quantiles(added[library], n=4)
        fastest = min(b + a for b, a in zip(bare, added[library])) - min(bare)
        print(f"  {os.path.basename(library):14} {middle:.3f} ms ({low:.3f} to {high:.3f}; "
              f"{fastest:.3f})")


main()
