"""The nginx.conf of tests: the shipped one with a test's values and paths."""

from . import environment, sanitizer

_TEMPLATE = """\
{main}
worker_processes {workers};
worker_rlimit_nofile {descriptors};
worker_shutdown_timeout {shutdown_timeout};
pid logs/nginx.pid;
error_log logs/error.log {log_level};
events {{
    worker_connections 4096;
}}
http {{
    access_log logs/access.log;
    client_body_temp_path temp/body;
    proxy_temp_path temp/proxy;
    fastcgi_temp_path temp/fastcgi;
    scgi_temp_path temp/scgi;
    uwsgi_temp_path temp/uwsgi;
    client_max_body_size 26m;
{http}
    server {{
        listen 127.0.0.1:{port} backlog=4096 {listen};
{listen_http2}
{server}
    }}
}}
"""


# After an upgrade, the new binary starts with these variables only.
_SANITIZER_ENVIRONMENT = "".join(f"\nenv {name};" for name in sanitizer.variables(""))


def nginx_configuration(
    port,
    *,
    main="",
    http="",
    server="",
    listen="",
    workers=2,
    descriptors=16384,
    http2_port=None,
    log_level="info",
    shutdown_timeout="60s",
):
    """Returns a complete nginx.conf with the given fragments."""
    return _TEMPLATE.format(
        main=main + _SANITIZER_ENVIRONMENT,
        http=http,
        server=server,
        listen=listen,
        workers=workers,
        descriptors=descriptors,
        port=port,
        listen_http2=f"        listen 127.0.0.1:{http2_port} http2;" if http2_port else "",
        log_level=log_level,
        shutdown_timeout=shutdown_timeout,
    )


def shipped_directive(name):
    """Returns the line of conf/nginx.conf that sets this directive."""
    lines = (environment.ROOT / "conf" / "nginx.conf").read_text().splitlines()
    return next(line for line in lines if line.strip().startswith(name + " "))


def load_module():
    return f'load_module "{environment.MODULE}";' if environment.MODULE else ""


def service_configuration(port, *, service_options="", location="", prefix="/", http="", **other):
    """Returns the nginx.conf of one service named `test`; service.json is in the same folder."""
    return nginx_configuration(
        port,
        main=load_module() + other.pop("main", ""),
        http=f"    agent_graph_service test service.json state=state/test {service_options};\n{http}",
        server=(
            f"        location {prefix} {{\n            agent_graph test;\n            {location}\n"
            f"        }}\n{other.pop('server', '')}"
        ),
        **other,
    )
