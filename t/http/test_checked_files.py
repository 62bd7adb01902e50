"""Workers use the files that the configuration test has checked, whatever is written over them
later."""

import os
import shutil
import subprocess

import pytest

from harness import environment, processes
from harness.agents import DEMO, behaviour
from harness.messages import texts
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, SECRET, bearer
from harness.waiting import wait_until

_without_sanitizer = pytest.mark.skipif(
    bool(environment.SANITIZER),
    reason="to name functions, a sanitizer reads the files of shared objects, which the test cuts off",
)

_GRAPHS = environment.BUILD / "t" / "graphs"
_SECRETS = {"secrets.env": JWT_ENVIRONMENT}

_REPLY = """{"app": {"nodes": [{"name": "A", "type": "reply", "text": "%s"}],
                     "edges": [{"from": "START", "to": "A"}, {"from": "A", "to": "END"}]}}"""
_KEYS = '{"keys": [{"kty": "oct", "k": "%s"}]}'
_KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"  # SECRET in base64url
_OTHER_KEY = "Zm9yZ2VkIGZvcmdlZCBmb3JnZWQgZm9yZ2VkIGZvcmc"


def _place(service, name, source):
    """Copies a file, because the harness links to shared files."""
    path = service.directory / "conf" / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    shutil.copy(source, path)
    return path


def _overwrite(path, content):
    """Writes to the same inode, like cp and many editors."""
    inode = path.stat().st_ino
    with open(path, "r+b") as file:
        file.truncate(0)
        file.write(content)
    assert path.stat().st_ino == inode


def _replace_workers(service):
    for _ in service.workers():
        service.kill_worker()


def _said(service, **headers):
    reply = service.post("/v1/graph/invoke", invocation("hi"), **headers)
    assert reply.status == 200, reply.text
    return texts(reply.json()["data"]["messages"])[-1]


def _assert_unmoved(service, path, content, check):
    """`check` must pass in the running workers and in those that replace them."""
    check()
    workers = {worker.pid for worker in service.workers()}
    _overwrite(path, content)
    for _ in range(8):  # on either worker
        check()
    assert {worker.pid for worker in service.workers()} == workers
    _replace_workers(service)
    for _ in range(8):
        check()


@_without_sanitizer
@pytest.mark.parametrize("content", [b"", b"no shared object", "another graph"])
def test_a_shared_object(make_service, content):
    service = make_service({"agent": "own/graph.so:echo"})
    path = _place(service, "own/graph.so", _GRAPHS / "behaviours.so")
    if content == "another graph":
        content = (_GRAPHS / "ordering.so").read_bytes()
    service.start()

    def check():
        assert _said(service) == "echo: hi"

    _assert_unmoved(service, path, content, check)
    service.error_log.allow(r"\[emerg\]")
    assert len(service.refused_reload()) == 1
    check()


_CALLING = """\
#include <agent_graph/agent_graph.h>
using namespace agent_graph;
extern "C" const char* outer();
static NodeResult Say(const State&, RunContext&) { return Message::Assistant(outer()); }
static void Build(GraphBuilder& graph) { graph.AddFunction("SAY", Say).AddEdge(START, "SAY"); }
AGENT_GRAPH_EXPORT(app, Build)
"""


def _compile(folder, name, source, *options):
    (folder / "source.cc").write_text(source)
    (folder / name).parent.mkdir(exist_ok=True)
    include = f"-I{environment.BUILD / 'sdk' / 'include'}"
    subprocess.run(
        ["g++", "-std=c++20", "-fPIC", "-shared", include, "source.cc", "-o", name, *options],
        cwd=folder,
        check=True,
    )
    return folder / name


@_without_sanitizer
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no compiler")
@pytest.mark.parametrize("named", [True, False])
def test_libraries_beside_the_graph(make_service, named):
    """$ORIGIN leads to libraries of libraries, too, whether they have a name of their own or not."""
    service = make_service({"agent": "own/graph.so:app"})
    folder = service.directory / "conf" / "own"
    folder.mkdir()

    def options(name):
        return [f"-Wl,-soname,{name}"] if named else []

    inner = _compile(
        folder, "lib/inner.so", 'extern "C" const char* inner() { return "inner"; }',
        *options("inner.so"),
    )
    outer = _compile(
        folder, "lib/outer.so",
        'extern "C" const char* inner(); extern "C" const char* outer() { return inner(); }',
        *options("outer.so"), "-Llib", "-l:inner.so", "-Wl,-rpath,${ORIGIN}",
    )
    _compile(
        folder, "graph.so", _CALLING, "-Llib", "-l:outer.so", "-Wl,-rpath,/nowhere:$ORIGIN/lib",
        "-Wl,--disable-new-dtags", "-Wl,--allow-shlib-undefined",
    )
    service.start()

    def check():
        assert _said(service) == "inner"

    _assert_unmoved(service, inner, b"", check)
    _assert_unmoved(service, outer, b"no shared object", check)
    outer.unlink()
    inner.unlink()
    _replace_workers(service)
    check()
    assert "outer.so" in service.refusal()


@pytest.mark.one_host("the file of one host is changed")
@pytest.mark.parametrize("content", [b"", b'{"app": 1}', (_REPLY % "other").encode()])
def test_a_document(make_service, content):
    service = make_service({"agent": "own/graph.json:app"})
    path = service.write("own/graph.json", _REPLY % "checked")
    service.start()

    def check():
        assert _said(service) == "checked"

    _assert_unmoved(service, path, content, check)
    _overwrite(path, (_REPLY % "changed").encode())
    check()
    service.reload()
    assert _said(service) == "changed"
    wait_until(lambda: not service.draining_workers(), "the old workers have gone")
    _overwrite(path, (_REPLY % "upgraded").encode())
    old = service.master_pid
    service.upgrade()
    wait_until(lambda: not processes.is_alive(old), "the old master has gone")
    assert _said(service) == "upgraded"


@_without_sanitizer
@pytest.mark.parametrize("key", ["auth", "authorization", "thread_name_generator"])
def test_code_beside_the_graph(make_service, key):
    source, settings = {
        "auth": ("auth_backends.so", {"auth": {"method": "custom", "path": "own/code.so:ByHeader"}}),
        "authorization": (
            "auth_backends.so",
            {"auth": "jwt", "env": "secrets.env", "authorization": "own/code.so:Lenient"},
        ),
        "thread_name_generator": (
            "thread_names.so",
            {"thread_name_generator": "own/code.so:counting"},
        ),
    }[key]
    service = make_service(behaviour("echo", **settings), files=_SECRETS)
    path = _place(service, "own/code.so", _GRAPHS / source)
    service.start()

    def check():
        headers = bearer("alice") if key == "authorization" else [("X-User", "alice")]
        reply = service.post("/v1/graph/invoke", invocation("hi"), headers=headers)
        assert reply.status == 200, reply.text
        if key == "thread_name_generator":
            assert "first: hi" in reply.json()["data"]["meta"]["thread_name"]

    _assert_unmoved(service, path, b"no shared object", check)
    _assert_unmoved(service, path, b"", check)


def test_keys_of_tokens(make_service):
    """All workers accept the same tokens, including workers that were started later."""
    files = {"secrets.env": f"{JWT_ENVIRONMENT}JWT_JWKS_FILE=keys.json\n", "keys.json": _KEYS % _KEY}
    service = make_service(behaviour("echo", auth="jwt", env="secrets.env"), files=files)
    path = service.directory / "conf" / "keys.json"
    if os.getuid() == 0:
        path.chmod(0o600)  # workers need no read access
    service.start()

    def check():
        assert service.get("/v1/graph", headers=bearer(secret=SECRET)).status == 200
        forged = service.get("/v1/graph", headers=bearer(secret="forged forged forged forged forg"))
        assert forged.json()["error"]["code"] == "INVALID_TOKEN"

    _assert_unmoved(service, path, (_KEYS % _OTHER_KEY).encode(), check)
    _assert_unmoved(service, path, b"{", check)
    path.unlink()
    _replace_workers(service)
    check()


def test_copies_go_with_their_configuration(make_service):
    service = make_service(
        DEMO
        | {
            "agent": "own/graph.json:app",
            "auth": "jwt",
            "env": "secrets.env",
            "authorization": "own/auth.so:Lenient",
            "thread_name_generator": "own/names.so:counting",
        },
        files={"secrets.env": f"{JWT_ENVIRONMENT}JWT_JWKS_FILE=keys.json\n", "keys.json": _KEYS % _KEY},
    )
    path = service.write("own/graph.json", _REPLY % "0")
    _place(service, "own/auth.so", _GRAPHS / "auth_backends.so")
    _place(service, "own/names.so", _GRAPHS / "thread_names.so")
    service.start()

    def copies():
        links = processes.open_files(service.master_pid)
        return sorted(link for link in links if link.startswith("/memfd:"))

    names = ["auth.so", "graph.json", "keys.json", "names.so"]
    assert copies() == [f"/memfd:{name} (deleted)" for name in names]
    for number in range(1, 4):
        _overwrite(path, (_REPLY % number).encode())
        service.reload()
        assert _said(service, headers=bearer()) == str(number)
        wait_until(lambda: len(copies()) == len(names), "the old copies have gone")
    _overwrite(path, b"{")
    service.error_log.allow(r"\[emerg\]")
    service.refused_reload()
    wait_until(lambda: len(copies()) == len(names), "the refused copies have gone")
