#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps descriptors for a daemon as systemd does, starts it, and ends it when it is told to.

    service-manager.py FOLDER COMMAND...

Listens on FOLDER/bus, hears notifications on FOLDER/notify, and appends what the daemon writes to FOLDER/log. Takes
commands on standard input, one a line, and answers each with one line:

    start             starts the daemon                   ready PID, or ended STATUS
    perish            starts the daemon, and has it die   ended STATUS
                      when it has taken over
    end SIGNAL        sends a signal and waits            ended STATUS
    signal SIGNAL     sends a signal                      sent
    reload            has it read its configuration       ready PID, or ended STATUS
    wait              waits for the daemon to end         ended STATUS
    await NAME COUNT  waits until so many are stored,     there
                      none of which has hung up
    keeps ADDRESS     waits until the connection of the   there
                      client with that name is stored
    stored            what is in the store                stored NAME=COUNT...
    word OFFSET       reads 8 bytes of the stored state   word NUMBER
    flip OFFSET BITS  changes a byte of the stored state  flipped
    cut LENGTH        has a copy of the state, as long    cut
    save NAME FILE    writes what a stored file holds     saved
    place NAME FILE   stores a file that holds that       placed INODE
    accept            stores the next connection          accepted COOKIE
    drop NAME         forgets what is stored under a name dropped
    add NAME PATH     stores an open file                 added
    room COUNT        bounds the store                    bounded
    keep              remembers the stored state          kept, and where there is something in it
    spoil OFFSET BITS has it as it was, but for one byte  spoilt
"""

import array
import fcntl
import os
import select
import signal
import socket
import struct
import sys

folder, command = sys.argv[1], sys.argv[2:]
store = []  # (name, descriptor, is polled)
room = int(os.environ.get("TRIBUNE_FDSTORE", "0"))
pid = 0
kept = (0, {})

listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
listening.bind(f"{folder}/bus")
listening.listen(4096)
notifications = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notifications.bind(f"{folder}/notify")
log = os.open(f"{folder}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def same(one, other):
    one, other = os.fstat(one), os.fstat(other)
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def remove(is_meant):
    for entry in [entry for entry in store if is_meant(entry)]:
        store.remove(entry)
        os.close(entry[1])


def hear(wait):
    """Takes a notification; returns whether it says that the daemon is ready."""
    if not select.select([notifications], [], [], wait)[0]:
        return False
    text, control, _, _ = notifications.recvmsg(65536, socket.CMSG_SPACE(253 * 4), socket.MSG_CMSG_CLOEXEC)
    passed = array.array("i")
    for level, kind, data in control:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            passed.frombytes(data[: len(data) - len(data) % 4])
    fields = dict(line.split("=", 1) for line in text.decode().split("\n") if "=" in line)
    name = fields.get("FDNAME", "stored")
    if "FDSTOREREMOVE" in fields:
        remove(lambda entry: entry[0] == name)
    for descriptor in passed:
        is_new = not any(same(descriptor, entry[1]) for entry in store)
        if "FDSTORE" in fields and is_new and len(store) < room:
            store.append((name, descriptor, fields.get("FDPOLL", "1") != "0"))
        else:
            os.close(descriptor)
    return "READY" in fields


def hear_all():
    while select.select([notifications], [], [], 0)[0]:
        hear(0)


def drop_gone():
    polled = select.poll()
    watched = {entry[1]: entry for entry in store if entry[2]}
    for descriptor in watched:
        polled.register(descriptor, 0)
    for descriptor, _ in polled.poll(0):
        store.remove(watched[descriptor])
        os.close(descriptor)


def wait_until(holds):
    drop_gone()
    while not holds():
        if not select.select([notifications], [], [], 60)[0]:
            raise TimeoutError(f"only {len(store)} descriptors are stored")
        hear(0)
        drop_gone()
    return "there"


def address(descriptor):
    """The abstract name of the client at the other end of a connection; None if it has none."""
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        name = connection.getpeername()
    return name[1:].decode() if isinstance(name, bytes) else None


def status(code):
    return f"ended {os.waitstatus_to_exitcode(code)}"


def ended(wait):
    """The status of the daemon once it has ended; hears it while it has not."""
    global pid
    while True:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            hear_all()
            pid = 0
            return status(code)
        if not wait:
            return None
        hear(0.01)


def spawn(says_to=None):
    global pid
    passed = [("bus", listening.fileno())] + [(name, descriptor) for name, descriptor, _ in store]
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        for standard in 1, 2:
            os.dup2(log if says_to is None else says_to, standard)
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, 3 + len(passed)) for _, descriptor in passed]
        for index, copy in enumerate(high):
            os.dup2(copy, 3 + index)
        os.closerange(3 + len(passed), max(high) + 1)
        os.environ.update(
            LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(passed)),
            LISTEN_FDNAMES=":".join(name for name, _ in passed), NOTIFY_SOCKET=f"{folder}/notify")
        os.execv(command[0], command)


def start():
    hear_all()
    drop_gone()
    spawn()
    return ready()


def ready():
    while True:
        if hear(0.02):
            return f"ready {pid}"
        if done := ended(wait=False):
            return done


def perish():
    """What it says goes into a pipe that is full: its first word is its last one, that it has taken over."""
    hear_all()
    drop_gone()
    reading, full = os.pipe()
    os.set_blocking(full, False)
    try:
        while True:
            os.write(full, bytes(4096))
    except BlockingIOError:
        os.set_blocking(full, True)
    before = os.pread(state()[1], 8, 88)
    spawn(says_to=full)
    os.close(full)
    while os.pread(state()[1], 8, 88) == before and not hear(0.001):
        pass
    os.kill(pid, signal.SIGKILL)
    os.close(reading)
    return ended(wait=True)


def state():
    for index, entry in enumerate(store):
        if entry[0] == "state":
            return index, entry[1]
    raise LookupError("there is no state in the store")


def contents(descriptor):
    """The length of a file, and its pages in which there is something: most of a long state is empty."""
    length = os.fstat(descriptor).st_size
    pages, offset = {}, 0
    while offset < length:
        try:
            offset = os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError:
            break
        end = os.lseek(descriptor, offset, os.SEEK_HOLE)
        for offset in range(offset // 4096 * 4096, end, 4096):
            page = os.pread(descriptor, 4096, offset)
            if any(page):
                pages[offset] = page
        offset = end
    return length, pages


def memory_file(length, parts):
    file = os.memfd_create("state", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(file, length)
    for offset, part in parts.items():
        if offset < length:
            os.pwrite(file, part[: length - offset], offset)
    fcntl.fcntl(file, 1033, 7)  # F_ADD_SEALS: its length, and no more seals
    return file


def replace(length, pages):
    index, descriptor = state()
    store[index] = ("state", memory_file(length, pages), False)
    os.close(descriptor)


def save(name, path):
    """Writes the length of a file, and its bytes but for rows that are zero."""
    length, pages = contents(next(entry[1] for entry in store if entry[0] == name))
    with open(path, "w") as text:
        text.write(f"length {length}\n")
        for offset, page in pages.items():
            for row in range(0, len(page), 32):
                if any(page[row : row + 32]):
                    text.write(f"{offset + row} {page[row : row + 32].hex()}\n")


def place(name, path):
    with open(path) as text:
        rows = [line.split() for line in text if line.strip() and not line.startswith("#")]
    parts = {int(offset): bytes.fromhex(row) for offset, row in rows[1:]}
    file = memory_file(int(rows[0][1]), parts)
    store.append((name, file, False))
    return os.fstat(file).st_ino


def accept():
    connection, _ = listening.accept()
    cookie = struct.unpack("Q", connection.getsockopt(socket.SOL_SOCKET, 57, 8))[0]  # SO_COOKIE
    store.append(("c", connection.detach(), True))
    return cookie


def run(words):
    verb, *rest = words
    if verb == "start":
        return start()
    if verb == "reload":
        hear_all()
        os.kill(pid, signal.SIGHUP)
        return ready()
    if verb == "perish":
        return perish()
    if verb == "end":
        os.kill(pid, int(rest[0]))
        return ended(wait=True)
    if verb == "signal":
        os.kill(pid, int(rest[0]))
        return "sent"
    if verb == "wait":
        return ended(wait=True)
    if verb == "await":
        return wait_until(lambda: sum(entry[0] == rest[0] for entry in store) >= int(rest[1]))
    if verb == "keeps":
        return wait_until(lambda: any(address(entry[1]) == rest[0] for entry in store if entry[0] == "c"))
    if verb == "stored":
        hear_all()
        drop_gone()
        names = sorted({name for name, _, _ in store})
        return " ".join(["stored"] + [f"{name}={sum(entry[0] == name for entry in store)}" for name in names])
    if verb == "word":
        return f"word {struct.unpack('Q', os.pread(state()[1], 8, int(rest[0])))[0]}"
    if verb == "flip":
        _, descriptor = state()
        byte = os.pread(descriptor, 1, int(rest[0]))[0]
        os.pwrite(descriptor, bytes([byte ^ int(rest[1])]), int(rest[0]))
        return "flipped"
    if verb == "cut":
        replace(int(rest[0]), contents(state()[1])[1])
        return "cut"
    if verb == "save":
        save(*rest)
        return "saved"
    if verb == "place":
        return f"placed {place(*rest)}"
    if verb == "accept":
        return f"accepted {accept()}"
    if verb == "drop":
        remove(lambda entry: entry[0] == rest[0])
        return "dropped"
    if verb == "add":
        store.append((rest[0], os.open(rest[1], os.O_RDWR), False))
        return "added"
    if verb == "keep":
        global kept
        kept = contents(state()[1])
        return " ".join(["kept"] + [str(offset) for offset in kept[1]])
    if verb == "spoil":
        page, offset = divmod(int(rest[0]), 4096)
        length, pages = kept
        data = bytearray(pages[page * 4096])
        data[offset] ^= int(rest[1])
        replace(length, pages | {page * 4096: bytes(data)})
        return "spoilt"
    if verb == "room":
        global room
        room = int(rest[0])
        return "bounded"
    raise ValueError(f"no command: {verb}")


def main():
    pending = b""
    try:
        while True:
            watched = [0, notifications]
            for ready in select.select(watched, [], [])[0]:
                if ready is notifications:
                    hear(0)
                    continue
                data = os.read(0, 65536)
                if not data:
                    return
                pending += data
                while b"\n" in pending:
                    line, pending = pending.split(b"\n", 1)
                    try:
                        answer = run(line.decode().split())
                    except Exception as error:  # What went wrong is the test's to know.
                        answer = f"failed {type(error).__name__}: {error}"
                    print(answer, flush=True)
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


main()
