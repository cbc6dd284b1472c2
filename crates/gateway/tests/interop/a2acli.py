"""Every command of a2acli against a gateway, in both versions of A2A: a2acli.py PROGRAM BASE.

What must come of each command stands beside it. The agent behind the gateway is agent.py, which knows the words used here.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

program, base = sys.argv[1:]
home = tempfile.TemporaryDirectory()


def start(version, *words):
    """Starts a command whose output is lines or one document of JSON."""
    command = [program, "--service-url", base, "--no-tui", "--no-cache", "--protocol", version, *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": home.name}
    )


def end(process):
    """What the command printed, as the list of its JSON values."""
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, f"{process.args}: {process.returncode} {out} {err}"
    values, rest, decoder = [], out.strip(), json.JSONDecoder()
    while rest:
        value, place = decoder.raw_decode(rest)
        values.append(value)
        rest = rest[place:].strip()
    return values


def run(version, *words):
    return end(start(version, *words))


def refused(version, *words):
    """What the command said of its refusal."""
    process = start(version, *words)
    out, err = process.communicate(timeout=30)
    assert process.returncode != 0, f"{words}: taken, with {out}"
    return out + err


def last_state(events):
    return [event["status"]["state"] for event in events if "status" in event][-1]


def texts(events):
    return [part["text"] for event in events if "artifact" in event for part in event["artifact"]["parts"]]


for version in ("1.0.0", "0.3.0"):
    said = run(version, "send", "hello")
    assert texts(said) == ["heard hello"] and last_state(said) == "TASK_STATE_COMPLETED", said
    task, context = said[0]["id"], said[0]["contextId"]
    (kept,) = run(version, "get", task)
    assert kept["status"]["state"] == "TASK_STATE_COMPLETED" and kept["artifacts"][0]["parts"] == [{"text": "heard hello"}]

    asked = run(version, "--context", context, "send", "ask me")
    assert asked[0]["contextId"] == context and last_state(asked) == "TASK_STATE_INPUT_REQUIRED", asked
    answered = run(version, "--task", asked[0]["id"], "send", "Carol")
    assert texts(answered) == ["thank you, Carol"], answered

    (listed,) = run(version, "list", "tasks")
    assert {task, asked[0]["id"]} <= {one["id"] for one in listed["tasks"]}, listed

    file = run(version, "send", "file")[0]["id"]
    place = pathlib.Path(home.name, version)
    run(version, "download", file, "--out-dir", str(place))
    (saved,) = place.iterdir()
    assert base64.b64encode(saved.read_bytes()) == b"aGVsbG8=", saved

    slow = start(version, "send", "slow")
    first = json.loads(slow.stdout.readline())
    (hook,) = run(version, "push-config", "create", first["id"], "https://hook.example/", "--id", "mine", "--token", "sesame")
    assert (hook["id"], hook["url"]) == ("mine", "https://hook.example/"), hook
    assert run(version, "push-config", "get", first["id"], "mine") == [hook]
    assert run(version, "push-config", "list", first["id"]) == [[hook]]
    run(version, "push-config", "delete", first["id"], "mine")
    assert run(version, "push-config", "list", first["id"]) == [[]]
    watched = start(version, "subscribe", first["id"])
    assert json.loads(watched.stdout.readline())["id"] == first["id"]
    run(version, "cancel", first["id"])
    for stream in (slow, watched):
        assert last_state(end(stream)) == "TASK_STATE_CANCELED"
    assert "cannot be canceled" in refused(version, "cancel", first["id"])
    assert "not found" in refused(version, "get", "no-such-task")

card = run("1.0.0", "discover")[0]
assert {one["protocolVersion"] for one in card["supportedInterfaces"]} == {"1.0", "0.3"}, card
checks = subprocess.run(
    [program, "--service-url", base, "conformance"], capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": home.name}
)
assert checks.returncode == 0 and "FAIL" not in checks.stdout, checks.stdout + checks.stderr
print("every command of a2acli, in both versions")
