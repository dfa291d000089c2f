"""Holds a database as a process does that repairs the log of one that was killed; lets go at the first line it reads.

Byte locks between processes are nothing that Node can take, and SQLite takes these for a moment only.
"""
import fcntl
import os
import struct
import sys

index = os.open(sys.argv[1] + "-shm", os.O_RDWR)


def lock(kind):
    # The locks for writing, for checkpoints and for the repair, side by side; waited for, since words may be being indexed.
    fcntl.fcntl(index, fcntl.F_SETLKW, struct.pack("hhqqi", kind, 0, 120, 3, 0))


lock(fcntl.F_WRLCK)
header = os.pread(index, 96, 0)
os.pwrite(index, bytes(96), 0)  # neither copy is whole: what a kill in the middle of a commit leaves behind
print("held", flush=True)
sys.stdin.readline()
os.pwrite(index, header, 0)
lock(fcntl.F_UNLCK)
