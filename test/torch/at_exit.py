"""Repeats runs that abort because an autograd thread still wants the interpreter at exit. That
happens with profrun and without."""
import shutil

DIES_AT_EXIT, TRIES = "terminate called without an active exception", 4


def again(run):
    """run(): a Run of the harness's, in a folder of its own."""
    for left in range(TRIES - 1, -1, -1):
        done = run()
        if not left or DIES_AT_EXIT not in done.err:
            return done
        shutil.rmtree(done.folder, ignore_errors=True)
