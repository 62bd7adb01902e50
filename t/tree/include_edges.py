#!/usr/bin/python3
"""include_edges.py EDGES   Compares the includes of the tree with the edges that CMake declares.

EDGES has a line `folder: dependency dependency ...` for each folder of CMakeLists.txt. Fails for an
include that crosses an edge not declared, a declared edge that no include uses, a folder that CMake
does not know, and a cycle between folders."""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE_ROOTS = ("engine", "src", ".", "engine/include")
CHECKED = ("engine", "src", "ngx_module")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.MULTILINE)


def read_edges(path):
    edges = {}
    for line in pathlib.Path(path).read_text().splitlines():
        folder, _, dependencies = line.partition(":")
        edges[folder] = set(dependencies.split())
    return edges


def folder_of(path, folders):
    """The declared folder that holds a file: its own, or the nearest one above it."""
    for parent in path.parents:
        if str(parent) in folders:
            return str(parent)
    return None


def target_of(source, name):
    """The file that an include of `source` names, relative to the root; None for a library's."""
    for folder in (*(ROOT / root for root in INCLUDE_ROOTS), source.parent):
        # Without "..", because the folder of a file is found by the names of its path.
        candidate = pathlib.Path(os.path.normpath(folder / name))
        if candidate.is_relative_to(ROOT) and candidate.is_file():
            return candidate.relative_to(ROOT)
    return None


def uses_of(folders):
    """{(folder, included folder): an example of such an include} and the files without a folder."""
    uses, homeless = {}, []
    for top in CHECKED:
        for source in sorted((ROOT / top).rglob("*")):
            if source.suffix not in (".h", ".cc"):
                continue
            relative = source.relative_to(ROOT)
            folder = folder_of(relative, folders)
            if folder is None:
                homeless.append(str(relative))
                continue
            for name in INCLUDE.findall(source.read_text()):
                target = target_of(source, name)
                included = folder_of(target, folders) if target else None
                if included and included != folder:
                    uses.setdefault((folder, included), f"{relative} includes {name}")
    return uses, homeless


def find_cycle(edges):
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return [*path[path.index(folder):], folder]
        if folder in done:
            return None
        path.append(folder)
        for dependency in sorted(edges.get(folder, ())):
            if cycle := visit(dependency):
                return cycle
        done.add(path.pop())
        return None

    for folder in sorted(edges):
        if cycle := visit(folder):
            return cycle
    return None


def problems_of(edges):
    uses, homeless = uses_of(edges)
    for path in homeless:
        yield f"{path}: no folder of CMakeLists.txt holds it"
    for (folder, included), example in sorted(uses.items()):
        if included not in edges[folder]:
            yield f"{example}, but {folder} does not depend on {included}"
    for folder in sorted(edges):
        for dependency in sorted(edges[folder]):
            if (folder, dependency) not in uses:
                yield f"CMakeLists.txt: {folder} names {dependency} and includes nothing of it"
    actual = {}
    for folder, included in uses:
        actual.setdefault(folder, set()).add(included)
    if cycle := find_cycle(actual):
        yield "cycle: " + " -> ".join(cycle)


def main():
    problems = list(problems_of(read_edges(sys.argv[1])))
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(1)
    print("include edges: as declared")


if __name__ == "__main__":
    main()
