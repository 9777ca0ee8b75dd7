"""terminal.py COLUMNS LINES [AFTER SEND]... -- COMMAND...: runs a command on a terminal of that size.

Types SEND once AFTER (a regular expression) was seen in what came since the last time, shows all
that the command writes, and leaves with its exit code; 124 if it takes more than five minutes.
"""
import fcntl, os, pty, re, select, struct, sys, termios, time

columns, lines = int(sys.argv[1]), int(sys.argv[2])
split = sys.argv.index("--")
steps = list(zip(sys.argv[3:split:2], sys.argv[4:split:2]))
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    os.execvp(sys.argv[split + 1], sys.argv[split + 1 :])
until, seen = time.monotonic() + 300, b""
while time.monotonic() < until:
    if not select.select([terminal], [], [], 0.2)[0]:
        continue
    try:
        data = os.read(terminal, 65536)
    except OSError:  # the other side is closed
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    seen += data
    if steps and re.search(steps[0][0].encode(), seen):
        os.write(terminal, steps.pop(0)[1].encode().decode("unicode_escape").encode())
        seen = b""
else:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    sys.exit(124)
status = os.waitpid(pid, 0)[1]
sys.exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
