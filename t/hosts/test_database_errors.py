"""Mistakes in the connection with PostgreSQL: nginx starts, requests get 503, and the error log has one
line that names the key and the reason, without the password."""

import contextlib
import os
import shutil

import pytest

from harness import admin, postgres
from harness.agents import behaviour
from harness.certificate import self_signed
from harness.waiting import wait_until

_SECRET = "s3cret-of-nobody"


def _settings(url):
    return behaviour("echo", checkpointer={"type": "postgres", "url": url})


def _first_line(start_service, url):
    service = start_service(_settings(url))
    service.error_log.allow(r"\[crit\].* is not available")
    line = wait_until(lambda: service.error_log.lines("is not available"), "the reason is logged")[0]
    assert service.get("/ready").status == 503
    assert _SECRET not in service.error_log.text() and postgres.PASSWORD not in service.error_log.text()
    assert "checkpointer.url: " in line
    return line


def _change(database, sql):
    database.query(sql)
    return database.url


@pytest.mark.parametrize("url, words", [
    ("postgresql://agent:{secret}@127.0.0.1:1/x", "not reachable"),
    ("postgresql://agent:{secret}@no.such.host.invalid/x", "no.such.host.invalid"),
    ("postgresql://agent:{secret}@127.0.0.1:{port}/{name}", "refuses the user or the password"),
    ("{server}/missing", 'database "missing" does not exist'),
    ("{server}/{name}?sslmode=require", "has no TLS, which sslmode demands"),
])
def test_servers_that_cannot_be_reached(database, start_service, url, words):
    text = url.format(
        secret=_SECRET, port=database.server.port, name=database.name,
        server=database.url.rsplit("/", 1)[0],
    )
    assert words in _first_line(start_service, postgres.patient(text))


def test_a_database_without_tables(empty_database, start_service):
    assert "has no tables of Agent Graph: run agent-graph-admin migrate" in _first_line(
        start_service, empty_database.url
    )


def test_a_database_that_accepts_no_writes(database, start_service):
    url = _change(database, f"ALTER DATABASE {database.name} SET default_transaction_read_only = on")
    assert "the state database accepts no writes" in _first_line(start_service, url)


def test_older_tables(database, start_service):
    url = _change(
        database,
        "DELETE FROM agent_graph.schema_version WHERE number = "
        "(SELECT max(number) FROM agent_graph.schema_version)",
    )
    line = _first_line(start_service, url)
    assert "this build needs version" in line and "run agent-graph-admin migrate" in line


def test_newer_tables(database, start_service):
    url = _change(
        database,
        "INSERT INTO agent_graph.schema_version (number, usable_from, name) VALUES (99, 99, 'future')",
    )
    assert "install a newer build" in _first_line(start_service, url)


def test_an_import_that_is_not_complete(database, start_service):
    url = _change(
        database,
        "INSERT INTO agent_graph.import (source, instance, next_key, digest) "
        "VALUES ('/state', gen_random_uuid(), 'k', 'd')",
    )
    line = _first_line(start_service, url)
    assert "the import of /state into the database is not complete" in line


@contextlib.contextmanager
def _role(database, grants):
    """The URL of the database for a role that has only these rights."""
    role = f"role_of_{database.name}"
    database.query(f"CREATE ROLE {role} LOGIN PASSWORD '{_SECRET}'")
    try:
        database.query(grants.format(role=role))
        yield postgres.patient(
            f"postgresql://{role}:{_SECRET}@127.0.0.1:{database.server.port}/{database.name}"
        )
    finally:
        database.query(f"DROP OWNED BY {role}; DROP ROLE {role}")


_TABLE_RIGHTS = (
    "GRANT USAGE ON SCHEMA agent_graph TO {role};"
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA agent_graph TO {role};"
)
# Those of docs/scale-out.md.
_RIGHTS = _TABLE_RIGHTS + "GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA agent_graph TO {role};"


@pytest.mark.parametrize("grants, words", [
    ("", "permission denied for schema agent_graph"),
    ("GRANT USAGE ON SCHEMA agent_graph TO {role};"
     "GRANT SELECT ON ALL TABLES IN SCHEMA agent_graph TO {role};", "lacks a right on agent_graph.cluster"),
    (_TABLE_RIGHTS, "lacks a right on agent_graph.memory_number"),
    (_RIGHTS + "REVOKE INSERT ON agent_graph.memory_row FROM {role};",
     "lacks a right on agent_graph.memory_row"),
])
def test_missing_rights(database, start_service, grants, words):
    with _role(database, grants) as url:
        assert words in _first_line(start_service, url)


def test_a_right_that_is_taken_away_is_logged_once(database, start_service):
    with _role(database, _RIGHTS) as url:
        service = start_service(_settings(url))
        assert service.invoke("hello").status == 200
        service.error_log.allow(r"\[(crit|error)\]")
        database.query(f"REVOKE INSERT ON agent_graph.lease FROM role_of_{database.name}")
        assert service.invoke("hello").status == 503
        assert len(service.error_log.lines("lacks a right on agent_graph.lease")) == 1
        assert len(service.error_log.lines("permission denied for table lease")) == 1
        service.stop()
        service.wait_until_gone()


def test_a_write_that_always_fails_is_not_repeated_all_the_time(database, start_service):
    service = start_service(_settings(database.url))
    assert service.invoke("hello").status == 200
    service.error_log.allow(r"\[(crit|error)\]")
    database.query("ALTER TABLE agent_graph.message RENAME TO lost")
    # The request is sent again to each executor until its time of 10 seconds is over.
    assert service.invoke("hello").status == 503
    failures = service.error_log.lines("is not available for writing: .* lacks a table")
    assert 1 <= len(failures) < 15
    assert "agent-graph-admin verify says what to do" in failures[0]
    assert "the database lacks agent_graph.message" in admin.admin("verify", database.url, code=1)
    assert service.get("/v1/threads").status == 200
    database.query("ALTER TABLE agent_graph.lost RENAME TO message")
    wait_until(lambda: service.invoke("hello").status == 200, "writes succeed again")


def test_hosts_name_their_version(database, start_service):
    service = start_service(_settings(database.url))
    assert service.invoke("hello").status == 200
    versions = database.query("SELECT DISTINCT version FROM agent_graph.instance")
    assert versions == [[admin.admin("--version").split()[1]]]


def test_the_rights_of_the_documents_suffice(database, start_service):
    with _role(database, _RIGHTS) as url:
        service = start_service(_settings(url))
        assert service.invoke("hello").status == 200
        admin.admin("verify", url)
        service.stop()
        service.wait_until_gone()


@pytest.fixture
def tls_server(directory):
    """tls_server(names) starts a PostgreSQL with TLS; returns a database and the certificate."""
    servers = []

    def start(names="IP:127.0.0.1"):
        folder = directory / f"tls{len(servers)}"
        folder.mkdir()
        certificate, key = self_signed(folder, names)
        # The server's key has to belong to its account.
        for file in (certificate, key):
            shutil.copy(file, folder / f"server-{file.name}")
            if os.getuid() == 0:
                shutil.chown(folder / f"server-{file.name}", postgres.ACCOUNT)
        (folder / f"server-{key.name}").chmod(0o600)
        servers.append(postgres.PostgresServer(
            ssl="on", ssl_cert_file=folder / f"server-{certificate.name}",
            ssl_key_file=folder / f"server-{key.name}",
        ))
        return servers[-1].create(), certificate

    yield start
    for server in servers:
        server.close()


def test_certificates(tls_server, start_service, directory):
    database, certificate = tls_server()
    (directory / "other").mkdir()
    other, key = self_signed(directory / "other")
    line = _first_line(start_service, f"{database.url}&sslmode=verify-full&sslrootcert={other}")
    assert "sslrootcert does not sign it" in line and "certificate verify failed" in line
    no_certificate = directory / "other" / "none.pem"
    no_certificate.write_text("no certificate\n")
    line = _first_line(start_service, f"{database.url}&sslmode=verify-ca&sslrootcert={no_certificate}")
    assert "see sslrootcert" in line
    checked = start_service(_settings(f"{database.url}&sslmode=verify-full&sslrootcert={certificate}"))
    assert checked.invoke("hello").status == 200
    in_use = database.query("SELECT count(*) FROM pg_stat_ssl WHERE ssl")[0][0]
    assert int(in_use) > 0


def test_a_certificate_for_another_host(tls_server, start_service):
    database, certificate = tls_server("DNS:db.example")
    line = _first_line(start_service, f"{database.url}&sslmode=verify-full&sslrootcert={certificate}")
    assert "is for another host" in line


def test_nginx_t_finds_a_missing_certificate(make_service, database):
    service = make_service(_settings(f"{database.url}&sslmode=verify-full&sslrootcert=/no/such.pem"))
    refused = service.refusal()
    assert "checkpointer.url: sslrootcert: cannot read /no/such.pem" in refused
    assert postgres.PASSWORD not in refused
