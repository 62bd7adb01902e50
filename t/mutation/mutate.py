#!/usr/bin/python3
"""Changes one place of the code at a time and runs the unit tests of its group: a change that no
test notices, a survivor, shows what the tests do not check.

The build directory compiles each file of the groups alone (AGENT_GRAPH_ALONE). A mutant is one object
that takes the place of another when the test programs are linked, so the tree never changes.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys

import places

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Many times what the tests of a group take: a mutant may make them hang.
TEST_SECONDS = 240


class Group:
    """The sources of a group, and how to build its tests with one of them replaced."""

    def __init__(self, name, build):
        self.name = name
        self._build = build
        self._compile = {}
        folder = ROOT / name.replace("_", "/", 1)
        for entry in json.loads((build / "compile_commands.json").read_text()):
            source = pathlib.Path(entry["file"])
            if source.is_relative_to(folder):
                self._compile[source] = shlex.split(entry["command"])
        self._links = {program: self._link_command(program) for program in self.programs(build, name)}

    @staticmethod
    def programs(build, name):
        """The test programs of the group's folders, as far as they were built."""
        tests = [*build.glob(f"test_{name}"), *build.glob(f"test_{name}_*")]
        return sorted(test.name for test in tests if os.access(test, os.X_OK) and test.is_file())

    def _link_command(self, program):
        steps = subprocess.run(
            ["ninja", "-C", str(self._build), "-t", "commands", program],
            check=True, capture_output=True, text=True,
        )
        return steps.stdout.splitlines()[-1]

    @property
    def sources(self):
        return sorted(self._compile)

    def kills(self, place, directory):
        """Returns why the mutant is dead, or None if it survives."""
        directory.mkdir(parents=True, exist_ok=True)
        source = directory / place.source.name
        source.write_text(place.mutated())
        command = list(self._compile[place.source])
        output = command.index("-o") + 1
        original, command[output] = command[output], str(directory / "mutant.o")
        command[command.index(str(place.source))] = str(source)
        # The copy is in another folder: headers beside the source are found through -I.
        if subprocess.run(command, cwd=self._build, capture_output=True, check=False).returncode:
            return "does not compile"
        replaced = (f" {original} ", f" {directory / 'mutant.o'} ")
        for name, link in self._links.items():
            program = directory / name
            link = link.replace(*replaced).replace(f"-o {name} ", f"-o {program} ")
            subprocess.run(link, cwd=self._build, shell=True, capture_output=True, check=True)
            reason = self._failure(program, directory)
            program.unlink()
            if reason:
                return reason
        return None

    def _failure(self, program, directory):
        environment = os.environ | {"TMPDIR": str(directory)}
        try:
            with open(directory / "log", "wb") as log:
                tests = subprocess.run(
                    [str(program), "--gtest_brief=1", "--gtest_fail_fast"], cwd=self._build,
                    env=environment, timeout=TEST_SECONDS, stdout=log, stderr=log, check=False,
                )
        except subprocess.TimeoutExpired:
            return "hangs"
        return "fails" if tests.returncode else None


def try_mutant(group, number, place, scratch):
    directory = scratch / f"{group.name}-{number}"
    reason = group.kills(place, directory)
    subprocess.run(["rm", "-rf", str(directory)], check=True)
    return place, reason


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("groups", nargs="+", metavar="group", help="such as src_api")
    parser.add_argument("--count", type=int, default=75, help="mutants of each group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="a part of the paths of the sources to change")
    return parser.parse_args()


def main():
    options = parse_arguments()
    build = options.build.resolve()
    survivors = []
    for name in options.groups:
        group = Group(name, build)
        sources = [source for source in group.sources if options.only in str(source)]
        chosen = places.choose(sources, options.count, random.Random(options.seed))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            tried = [
                pool.submit(try_mutant, group, number, place, build / "mutants")
                for number, place in enumerate(chosen)
            ]
            for future in concurrent.futures.as_completed(tried):
                place, reason = future.result()
                print(f"{reason or 'SURVIVES'}: {place.describe(ROOT)}", flush=True)
                if reason is None:
                    survivors.append(place)
    print(f"{len(survivors)} survivors")
    for place in sorted(survivors, key=lambda place: (place.source, place.line)):
        print("  " + place.describe(ROOT))


if __name__ == "__main__":
    sys.exit(main())
