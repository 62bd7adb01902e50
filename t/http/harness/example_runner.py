"""Runs the examples of a document in their order, as a reader would, with ports and paths of a
test."""

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys

from . import environment, http1
from .certificate import self_signed
from .clients import INSTALLED
from .command import RunningAgent, command
from .configuration import load_module, nginx_configuration, service_configuration
from .example_checks import accepted_configuration, accepted_graph, accepted_tools, compile_snippets, masked
from .examples import output_differences
from .nginx import Nginx
from .ports import free_port
from .service import Service
from .waiting import wait_until

_HOST = "agent.example.com"
_COMPILE_SECONDS = 600
_ROUTES = """\
    log_format routes '$request_method $agent_graph_route';
    access_log logs/routes.log routes;
"""
_SERVICE = "    agent_graph_service support service.json state=state/support;\n"


class _Recipe(Service):
    """A service whose nginx.conf has the part that a document shows."""

    def __init__(self, directory, configuration):
        self.port = None
        Nginx.__init__(self, directory, configuration)


class ExampleRunner:
    """`instances`: every nginx that is started, for the fixture that stops them. `clients`: programs
    may import the packages of t/clients."""

    def __init__(self, directory, instances, clients=False):
        self.folder = directory / "work"
        self.folder.mkdir(exist_ok=True)
        self._variables = {}
        if clients:
            self._variables["PYTHONPATH"] = str(INSTALLED / "python")
            (self.folder / "node_modules").symlink_to(INSTALLED / "node_modules")
        self._programs = directory / "bin"
        self._programs.mkdir(exist_ok=True)
        self._routes = set()
        self._directory = directory
        self._instances = instances
        self._files = {}
        self._snippets = []
        self._ports = {}
        self._children = []
        self._output = ""
        self._again = None
        self._nginx = None
        self._running = None

    def run(self, examples):
        actions = {
            "run": self._run,
            "await": self._await,
            "output": self._compare,
            "file": self._file,
            "build": self._build,
            "background": self._background,
            "agent": self._agent,
            "serve": self._serve,
            "folder": self._run_folder,
            "check": self._check_service,
            "settings": self._check_settings,
            "cpp": self._snippets.append,
            "configuration": self._check_configuration,
            "graph": lambda example: accepted_graph(self.folder, example.text),
            "tools": lambda example: accepted_tools(self.folder, example.text),
            "chat": self._chat,
            "not": lambda _: None,
        }
        for example in examples:
            if example.kind:
                try:
                    actions[example.kind](example)
                except AssertionError as error:
                    raise AssertionError(f"line {example.line}: {error}") from error
        if self._snippets:
            compile_snippets(self.folder, self._snippets)

    @property
    def output(self):
        """The output of the program that was run last."""
        return self._output

    def get(self, target):
        """Requests something from the nginx that was started last."""
        return http1.fetch(self._nginx.port, "GET", target)

    def test_configuration(self):
        """What `nginx -t` prints for the nginx that was started last."""
        accepted, printed = self._nginx.test_configuration()
        assert accepted, printed
        return printed

    def requested_routes(self):
        """(method, pattern) of every route that an example has requested."""
        self._stop()
        return self._routes

    def close(self):
        if self._running:
            self._running.close()
        for child in self._children:
            child.kill()
            child.wait()

    # Servers

    def _agent(self, example):
        """The sample service of `make run` with one of the sample agents, or one that the document
        has made."""
        self._stop()
        name = example.argument
        made = self.folder / name
        port = self._port("8000")
        service = Service(
            self._next_directory(), (environment.ROOT / "conf" / "service.json").read_text(), http=_ROUTES
        )
        service.port = port
        service.configure(service_configuration(port, http=_ROUTES, location="agent_graph_run_timeout 2m;"))
        service.link_graphs()
        shutil.copytree(
            environment.ROOT / "t" / "http" / "reports", service.directory / "conf" / "eval_reports"
        )
        agent = f"{made if made.exists() else 'graphs/' + name}:app"
        self._begin(service, {"AGENT": agent})

    def _serve(self, example):
        self.serve(example.text)

    def serve(self, shown):
        """Starts an nginx with this part of its http block, and with the files that were shown since
        the last one."""
        self._stop()
        directory = self._next_directory()
        text = self._local(shown, directory)
        service = "" if "agent_graph_service" in text else _SERVICE
        whole = nginx_configuration(0, main=load_module(), http=service + _ROUTES + text)
        # The recipe has servers of its own.
        whole = re.sub(r"    server \{\n        listen 127.0.0.1:0 .*\Z", "}\n", whole, flags=re.S)
        nginx = _Recipe(directory, whole)
        nginx.write("service.json", '{"agent": "graphs/support.json:app"}')
        nginx.link_graphs()
        for name, content in self._files.items():
            nginx.write(name, self._local(content, directory))
        self._files.clear()
        # Files that a program of the document has made for this nginx.
        for name in re.findall(r"/etc/nginx/([\w.-]+)", shown):
            if (self.folder / name).exists():
                nginx.write(name, (self.folder / name).read_bytes())
        self._begin(nginx, {})

    def _run_folder(self, example):
        """`agent-graph run` with a folder that the document has made."""
        self._stop()
        self._running = RunningAgent(self.folder / example.argument, self._port("8000"))

    def _check_settings(self, example):
        """Members of a service.json: the same with an agent."""
        members = example.text.strip()
        if not members.startswith("{"):
            members = f"{{{members}}}"
        self._accept(json.dumps({"agent": "graphs/support.json:app"} | json.loads(members)))

    def _check_service(self, example):
        """`nginx -t` accepts this service.json."""
        self._accept(example.text)

    def _accept(self, text):
        service = Service(self._next_directory(), text)
        service.link_graphs()
        self._instances.append(service)
        names = re.findall(r"\$\{(\w+)\}", text)
        names += ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"]
        accepted, printed = service.test_configuration(dict.fromkeys(names, "key"))
        assert accepted, printed

    def _check_configuration(self, example):
        directory = self._next_directory()
        self._instances.append(accepted_configuration(directory, self._local(example.text, directory)))

    def _begin(self, nginx, variables):
        self._instances.append(nginx)
        self._nginx = nginx.start(extra_environment=variables)
        # Programs of the document call this nginx.
        program = self._programs / "nginx"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(nginx.command_line())} "$@"\n')
        program.chmod(0o755)

    def _stop(self):
        if self._running:
            self._running.close()
            self._running = None
        if self._nginx:
            self._nginx.stop()
            self._nginx.wait_until_gone()
            self._count_routes()
            self._nginx = None

    def _count_routes(self):
        if self._nginx:
            lines = (self._nginx.directory / "logs" / "routes.log").read_text().splitlines()
            self._routes |= {tuple(line.split(" ", 1)) for line in lines}

    def _next_directory(self):
        return self._directory / f"nginx{len(self._instances)}"

    # Files and programs

    def _file(self, example):
        self._files[example.argument] = example.text
        path = self.folder / example.argument
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._local(example.text, self._directory))

    def _build(self, example):
        """Compiles without optimisation, which takes a third of the time. The headers of the build
        take the place of installed ones."""
        text = example.text.replace("$PWD/build/release", str(environment.BUILD))
        text = re.sub(r"(?<=-[IL])build/release", str(environment.BUILD), text)
        text = f"export CPLUS_INCLUDE_PATH={environment.BUILD}/sdk/include\n" + text
        self._output = self._program("sh", text.replace("-O2", "-O0"), timeout=_COMPILE_SECONDS)
        assert (self.folder / example.argument).exists()

    def _background(self, example):
        """Starts a server in the background and waits until it accepts connections."""
        port = self._port(example.argument)
        command = self._local(example.text, self._directory).strip().rstrip("&")
        self._children.append(
            subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=self.folder, stderr=subprocess.DEVNULL)
        )
        wait_until(lambda: _accepts(port), f"the server on port {port} accepts connections")

    def _run(self, example):
        directory = self._nginx.directory if self._nginx else self._directory
        self._output = self._program(example.language, self._local(example.text, directory))

    def _chat(self, example):
        """Lines after the prompt are those of the user."""
        _, *lines = example.text.splitlines()
        typed = [line.removeprefix("> ") for line in lines if line.startswith("> ")]
        shown = [line for line in lines if not line.startswith("> ")]
        url = self._local("http://127.0.0.1:8000", self._directory)
        printed = command("chat", "--url", url, text="".join(line + "\n" for line in typed))
        # The conversation may end with a line of the user.
        assert masked(printed).startswith(masked("".join(line + "\n" for line in shown))), printed

    def _await(self, example):
        """Repeats the example until its output is right, because nginx acts a moment after the answer."""
        self._again = example

    def _compare(self, example):
        if self._again:
            again, self._again = self._again, None
            wait_until(
                lambda: self._run(again) or not output_differences(example.text, self._output),
                f"line {again.line} prints what the document shows",
            )
        found = output_differences(example.text, self._output)
        assert not found, "\n".join([*found, self._output])

    def _program(self, language, text, timeout=environment.PATIENCE):
        shell = re.sub(r"^\$ ", "", text, flags=re.M) if language == "console" else text
        programs = {
            "sh": ["bash", "-euo", "pipefail", "-c", shell],
            "console": ["bash", "-euo", "pipefail", "-c", shell],
            "python": [sys.executable, "-c", text],
            "js": [_node(), "--input-type=module", "-e", text],
        }
        (self.folder / ".curlrc").write_text(self._curl_options())
        done = subprocess.run(
            programs[language],
            cwd=self.folder,
            env={"PATH": f"{self._programs}:{environment.BUILD}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(self.folder), "PYTHONUNBUFFERED": "1"} | self._variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    # Replacements for addresses, paths and times of a document

    def _local(self, text, directory):
        """Replaces the addresses and paths of a document."""
        text = re.sub(
            r'\b(?:localhost|127\.0\.0\.1)(:|", )(\d{4})\b',
            lambda m: f"127.0.0.1{m[1]}{self._port(m[2])}",
            text,
        )
        text = re.sub(r"\blisten (\d+)(?=[ ;])", lambda m: f"listen 127.0.0.1:{self._port(m[1])}", text)
        if "ssl_certificate" in text:
            certificate, key = self._certificate()
            text = re.sub(r"ssl_certificate [^;]*;", f"ssl_certificate {certificate};", text)
            text = re.sub(r"ssl_certificate_key [^;]*;", f"ssl_certificate_key {key};", text)
        for there, here in (
            ("/etc/nginx/", f"{directory}/conf/"),
            ("/var/log/nginx/", f"{directory}/logs/"),
            ("/var/lib/nginx/agent-graph", f"{directory}/state"),
        ):
            text = text.replace(there, here)
        return text

    def _port(self, shown):
        if shown not in self._ports:
            self._ports[shown] = free_port()
        return self._ports[shown]

    def _certificate(self):
        folder = self._directory / "tls"
        if not folder.exists():
            folder.mkdir()
            self_signed(folder, f"DNS:{_HOST}")
        return folder / "certificate.pem", folder / "key.pem"

    def _curl_options(self):
        lines = [
            f'connect-to = "{_HOST}:{shown}:127.0.0.1:{port}"\n' for shown, port in self._ports.items()
        ]
        if (self._directory / "tls").exists():
            lines.append(f'cacert = "{self._directory}/tls/certificate.pem"\n')
        return "".join(lines)


def _accepts(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _node():
    own = list(environment.NODE_MODULES.glob("node-linux-*/bin/node"))
    return str(own[0]) if own else shutil.which("node")
