"""A thread of autograd's may still want the interpreter while it goes down, with profrun and without; such a run is made again."""
DIES_AT_EXIT, TRIES = "terminate called without an active exception", 4
