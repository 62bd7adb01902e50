"""Records the SQL of turns on a PostgreSQL server and writes it as a script for pgbench, so that the
server alone can be measured with the work that the service gives it."""
import re

# A thread per client of pgbench: their transactions lock different rows.
CLIENTS = 4

_LINE = re.compile(r"^\S+ \S+ UTC \[(\d+)\] .*?(LOG|DETAIL):  (.*)$")
_STATEMENT = re.compile(r"execute \w+: (.*)")
_PARAMETER = re.compile(r"\$(\d+) = (NULL|'(?:[^']|'')*')")
# Comes first in each transaction of a turn.
_HOLD = "SELECT agent_graph.hold_threads("


def _with_values(statement, parameters):
    values = dict(_PARAMETER.findall(parameters))
    return re.sub(r"\$(\d+)", lambda found: values[found[1]], statement)


def _statements(log):
    """The statements of each session with their values, in the order of the log."""
    sessions = {}
    for line in log.splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        statements = sessions.setdefault(found[1], [])
        statement = _STATEMENT.match(found[3])
        if found[2] == "LOG" and statement:
            statements.append(statement[1])
        elif found[3].startswith("parameters: ") and statements:
            statements[-1] = _with_values(statements[-1], found[3])
    return sessions.values()


def transactions_of(log):
    """The transactions of the session that has written turns, as lists of statements."""
    for statements in _statements(log):
        if any(statement.startswith(_HOLD) for statement in statements):
            transactions = []
            for statement in statements:
                if statement.startswith(_HOLD):
                    # The logged statement expects the versions of its own time. A repetition finds
                    # newer ones, so it takes the same locks without the comparison.
                    keys = re.search(r"'(\{.*?\})'", statement)[1]
                    transactions.append([
                        "SELECT 1 FROM agent_graph.instance WHERE NOT dead LIMIT 1 FOR KEY SHARE",
                        f"SELECT 1 FROM agent_graph.lease WHERE thread = ANY('{keys}'::bytea[]) FOR UPDATE",
                    ])
                elif transactions:
                    transactions[-1].append(statement)
            return transactions
    raise SystemExit("the log of PostgreSQL has no turn")


def script_of(turns):
    """The script in which each client of pgbench repeats one of the turns."""
    lines = []
    for client, turn in enumerate(turns):
        lines.append(f"\\{'el' if client else ''}if :client_id = {client}")
        for transaction in turn:
            lines += ["\\startpipeline", *(f"{statement};" for statement in transaction), "\\endpipeline"]
    return "\n".join([*lines, "\\endif", ""])
