"""A network of its own for each host: a namespace with one address, on a bridge that the database, the
balancer and the world outside share. Links can be cut in both directions or in one."""

import os
import subprocess


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


class Network:
    """Needs root. Names and addresses follow from the process's id, so that several runs fit on one
    machine."""

    def __init__(self, hosts):
        self._name = f"ag{os.getpid() % 10**7}"
        self._net = f"10.{200 + os.getpid() // 250 % 50}.{os.getpid() % 250}"
        self.outside = f"{self._net}.1"  # the address of everything outside of the hosts
        self.subnet = f"{self._net}.0/24"
        self.hosts = [Place(f"{self._name}h{n}", f"{self._net}.{n + 11}") for n in range(hosts)]
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def _build(self):
        run("ip", "link", "add", self._name, "type", "bridge")
        run("ip", "address", "add", f"{self.outside}/24", "dev", self._name)
        run("ip", "link", "set", self._name, "up")
        for place in self.hosts:
            run("ip", "netns", "add", place.name)
            run("ip", "link", "add", place.name, "type", "veth", "peer", "name", "eth0", "netns", place.name)
            run("ip", "link", "set", place.name, "master", self._name, "up")
            place.run("ip", "address", "add", f"{place.address}/24", "dev", "eth0")
            place.run("ip", "link", "set", "eth0", "up")
            place.run("ip", "link", "set", "lo", "up")

    def close(self):
        for place in self.hosts:
            subprocess.run(["ip", "netns", "delete", place.name], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "delete", self._name], check=False, stderr=subprocess.DEVNULL)


class Place:
    """The namespace of one host."""

    def __init__(self, name, address):
        self.name = name
        self.address = address

    def command(self, command):
        """The command line that runs a program in this namespace."""
        return ["ip", "netns", "exec", self.name, *command]

    def run(self, *command):
        run(*self.command(command))

    def cut(self, ports, *, sending=True, receiving=True):
        """Drops packets between the host and these ports of the outside; connections stay open."""
        for port in ports:
            if sending:
                self.run("iptables", "-A", "OUTPUT", "-p", "tcp", "--dport", port, "-j", "DROP")
            if receiving:
                self.run("iptables", "-A", "INPUT", "-p", "tcp", "--sport", port, "-j", "DROP")

    def cut_clients(self, port):
        """Drops packets between clients and this port of the host."""
        self.run("iptables", "-A", "INPUT", "-p", "tcp", "--dport", port, "-j", "DROP")
        self.run("iptables", "-A", "OUTPUT", "-p", "tcp", "--sport", port, "-j", "DROP")

    def lose(self, share):
        """Drops this share of all packets of the host, chosen at random, in both directions."""
        for chain in ("INPUT", "OUTPUT"):
            self.run("iptables", "-A", chain, "-p", "tcp", "!", "-i" if chain == "INPUT" else "-o", "lo",
                     "-m", "statistic", "--mode", "random", "--probability", share, "-j", "DROP")

    def mend(self):
        self.run("iptables", "-F")
