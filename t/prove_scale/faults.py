"""The faults that strike a cluster, one function each. A function strikes, waits as long as the fault
lasts, and heals what it has done."""

import asyncio
import random

# Other hosts take the runs of a silent host over after about four seconds.
TAKEOVER_SECONDS = 4
_LONG = 2 * TAKEOVER_SECONDS
_SHORT = 3


async def _blocking(function, *arguments):
    return await asyncio.to_thread(function, *arguments)


def _any_host(cluster):
    return random.choice(cluster.hosts)


async def _freeze(host, processes):
    thaw = host.freeze(processes)
    await asyncio.sleep(_LONG)
    thaw()


async def host_killed(cluster):
    """kill -9 of all processes of a host, which comes back after its runs have moved"""
    host = _any_host(cluster)
    await _blocking(host.kill_all)
    await asyncio.sleep(_LONG)
    await _blocking(host.start)


async def worker_killed(cluster):
    """kill -9 of a worker of each host, one after the other"""
    for host in cluster.hosts:
        await _blocking(host.kill_worker)


async def gateway_killed(cluster):
    """kill -9 of the state server of each host, one after the other"""
    for host in cluster.hosts:
        await _blocking(host.kill, host.cache_manager().pid)
        await _blocking(host.cache_manager)


async def gateway_stopped(cluster):
    """SIGSTOP of a state server for twice the time of a takeover, then SIGCONT"""
    host = _any_host(cluster)
    await _freeze(host, host.cache_managers())


async def worker_stopped(cluster):
    """SIGSTOP of a worker for twice the time of a takeover, then SIGCONT"""
    host = _any_host(cluster)
    await _freeze(host, host.workers()[:1])


async def host_stopped(cluster):
    """SIGSTOP of all processes of a host for twice the time of a takeover, then SIGCONT"""
    host = _any_host(cluster)
    await _freeze(host, host.processes())


async def postmaster_killed(cluster):
    """kill -9 of the postmaster and its children, started again after 3 seconds"""
    await _blocking(cluster.databases.primary.kill)
    await asyncio.sleep(_SHORT)
    await _blocking(cluster.databases.primary.start)


async def sessions_terminated(cluster):
    """pg_terminate_backend of every session of the hosts, 20 times in a row"""
    for _ in range(20):
        await _blocking(
            cluster.databases.query,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND datname = current_database() AND backend_type = 'client backend'",
        )
        await asyncio.sleep(0.2)


async def _cut(cluster, **directions):
    host = _any_host(cluster)
    await _blocking(lambda: host.place.cut(cluster.databases.reached_ports, **directions))
    await asyncio.sleep(_LONG)
    await _blocking(host.place.mend)


async def partition(cluster):
    """a host and the database lose all packets of each other"""
    await _cut(cluster)


async def partition_to_database(cluster):
    """packets of a host to the database are lost, those to it arrive"""
    await _cut(cluster, receiving=False)


async def partition_from_database(cluster):
    """packets of the database to a host are lost, those from it arrive"""
    await _cut(cluster, sending=False)


async def packets_lost(cluster):
    """every host loses one packet in twenty, at random, in both directions"""
    for host in cluster.hosts:
        await _blocking(host.place.lose, 0.05)
    await asyncio.sleep(_LONG)
    for host in cluster.hosts:
        await _blocking(host.place.mend)


async def partition_from_clients(cluster):
    """a host and the balancer lose all packets of each other"""
    host = _any_host(cluster)
    await _blocking(host.place.cut_clients, host.port)
    await asyncio.sleep(_LONG)
    await _blocking(host.place.mend)


async def standby_stopped(cluster):
    """the strict synchronous standby answers nothing for 3 seconds: no commit is acknowledged"""
    standby = cluster.databases.standby
    await _blocking(standby.freeze)
    await asyncio.sleep(_SHORT)
    await _blocking(standby.thaw)


async def pooler_killed(cluster):
    """kill -9 of PgBouncer, started again after 3 seconds"""
    pooler = cluster.databases.pooler
    await _blocking(pooler.stop)
    await asyncio.sleep(_SHORT)
    await _blocking(pooler.start)


async def disk_full(cluster):
    """the disk of the tables is full for 3 seconds"""
    make_room = await _blocking(cluster.databases.primary.fill_disk)
    await asyncio.sleep(_SHORT)
    await _blocking(make_room)


async def clock_jumps(cluster):
    """the wall clock of a host jumps two hours ahead, then two hours back, then to the right time"""
    host = _any_host(cluster)
    for seconds in (7200, -7200, 0):
        await _blocking(host.jump, seconds)
        await asyncio.sleep(_SHORT)


async def fail_over(cluster):
    """kill -9 of the primary; the standby is promoted by hand, and gets a standby of its own"""
    await _blocking(cluster.databases.fail_over)
    await asyncio.sleep(_SHORT)
    await _blocking(cluster.databases.attach_standby)


async def leader_killed(cluster):
    """kill -9 of the primary and its Patroni: Patroni promotes the standby, the lost server follows it"""
    lost = await _blocking(cluster.databases.kill_leader)
    await _blocking(cluster.databases.wait_for_leader)
    await _blocking(lost.start)
    await _blocking(cluster.databases.wait_for_standby)


FAULTS = (host_killed, worker_killed, gateway_killed, gateway_stopped, worker_stopped, host_stopped,
          postmaster_killed, sessions_terminated, partition, partition_to_database,
          partition_from_database, partition_from_clients, packets_lost, standby_stopped, pooler_killed,
          disk_full, clock_jumps, fail_over)
# With --patroni.
WITH_PATRONI = (leader_killed, partition)
