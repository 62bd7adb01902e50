"""A newcomer's first hour on a machine that has only the packages, or only a checkout in which `make run`
was called: an agent with its own tool, over HTTP and in C++, and with its own model, by the commands and
files of the documents.

first_hour.py ROOT [CHECKOUT]   ROOT is the chroot with the packages, or with the checkout in the folder
CHECKOUT. The HTTP service of the tool and the model run outside of it, in the same network. Run by
test-deb.sh and test-checkout.sh."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

_PROJECT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(_PROJECT / "t" / "http"), str(_PROJECT / "t" / "conformance")]

from harness import http1
from harness.examples import examples_of
from harness.waiting import wait_until
from scripted_model import ScriptedModel

_QUICKSTART = "docs/quickstart.md"
_ROOT = pathlib.Path(sys.argv[1])
_CHECKOUT = sys.argv[2] if len(sys.argv) > 2 else None
_FOLDER = _CHECKOUT or "/root"
_HOME = _ROOT / _FOLDER.lstrip("/")
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
if _CHECKOUT:
    _PATH = f"{_CHECKOUT}/build/release:{_PATH}"
_KEY = "sk-first-hour"


def main():
    begun = time.monotonic()
    model = ScriptedModel(lambda tools: [(name, _ARGUMENTS[name]) for name in tools if name in _ARGUMENTS])
    shop = _HOME / "shop.py"
    shop.write_text(_file("shop.py"))
    orders = subprocess.Popen([sys.executable, shop], stderr=subprocess.DEVNULL)
    try:
        _agent_in_json(model)
        _agent_in_cpp(model)
        if not _CHECKOUT:
            _in_nginx()
    finally:
        orders.kill()
        model.close()
    assert model.missing == [], model.missing
    print(f"first_hour: agents with own tools and an own model answer, after {time.monotonic() - begun:.0f} s")


# Arguments with which the fake model calls a tool, by the name of the tool.
_ARGUMENTS = {"get_order": {"number": "17"}, "shipping_cost": {"kilograms": 1.5}}


def _file(name):
    """The content of a file that the quickstart shows."""
    (text,) = [each.text for each in examples_of(_QUICKSTART) if (each.kind, each.argument) == ("file", name)]
    return text


def _inside(*command, **other):
    environment = {"PATH": _PATH, "HOME": "/root", "OPENAI_API_KEY": _KEY}
    inside = ["chroot", _ROOT, "env", f"--chdir={_FOLDER}", *command]
    return subprocess.run(inside, env=environment, check=True, text=True, stdout=subprocess.PIPE, **other).stdout


def _use_model(folder, model):
    """The lines of docs/providers.md for another service with OpenAI's API."""
    path = _HOME / folder / "service.json"
    settings = json.loads(path.read_text())
    settings["models"] = {"default": {"provider": "openai", "model": "own", "base_url": model.base_url}}
    path.write_text(json.dumps(settings))


def _chat(folder, text):
    """Serves the folder and says something."""
    command = ["chroot", _ROOT, "env", f"--chdir={_FOLDER}", "agent-graph", "run", folder]
    environment = {"PATH": _PATH, "OPENAI_API_KEY": _KEY}
    server = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        wait_until(lambda: _answers(server), f"agent-graph run serves {folder}")
        return _inside("agent-graph", "chat", input=text + "\n")
    finally:
        os.killpg(server.pid, signal.SIGINT)
        server.wait()


def _answers(server):
    assert server.poll() is None, "agent-graph run has ended"
    return _is_up("/ping")


def _is_up(target):
    try:
        return http1.fetch(8000, "GET", target).status == 200
    except OSError:
        return False


def _agent_in_json(model):
    _inside("agent-graph", "init", "shop")
    assert "are fine" in _inside("agent-graph", "check", "shop")
    assert "6 * 7 = 42" in _chat("shop", "What is 6 * 7?")
    (_HOME / "shop/agent.json").write_text(_file("shop/agent.json"))
    _use_model("shop", model)
    printed = _chat("shop", "Where is my order?")
    assert '<- get_order: {"number":"17","state":"shipped"}' in printed, printed


def _agent_in_cpp(model):
    printed = _inside("agent-graph", "init", "--cpp", "parcels")
    compiler = re.search(r"^  (g\+\+ .*)$", printed, re.M)[1]
    _inside("sh", "-c", f"cd parcels && {compiler}")
    _use_model("parcels", model)
    printed = _chat("parcels", "What does it cost?")
    assert '<- shipping_cost: {"euro":4}' in printed, printed


def _in_nginx():
    """The last step of the quickstart, in the nginx that the package has started."""
    conf = _ROOT / "etc/nginx"
    (part,) = [each.text for each in examples_of(_QUICKSTART) if each.kind == "serve"]
    (conf / "agent.json").write_text(_file("shop/agent.json"))
    (conf / "service.json").write_text(_file("service.json"))
    (conf / "conf.d/orders.conf").write_text(part)
    _inside("nginx", "-t", "-q")
    _inside("nginx", "-s", "reload")
    body = {"messages": [{"role": "user", "content": 'call get_order {"number": "17"}'}]}
    wait_until(lambda: _is_up("/orders/ping"), "nginx serves the agent")
    reply = http1.fetch(8000, "POST", "/orders/v1/graph/invoke", (), body)
    assert reply.status == 200 and "shipped" in reply.text, reply.text
    (conf / "conf.d/orders.conf").unlink()
    _inside("nginx", "-s", "reload")


main()
