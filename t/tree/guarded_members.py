#!/usr/bin/python3
"""guarded_members.py   Fails for a data member that follows a mutex and has no AG_GUARDED_BY. clang checks
only members that are annotated, so it does not notice a missing annotation. Also fails for a mutex, lock
or condition variable of the standard library, which clang does not check at all: base/mutex.h has ours.
And for a lock in a constructor or destructor, whose bodies clang does not analyse: call a function there.

A mutex and the members that it protects are one block of lines. Members that it does not protect stand
before the mutex or behind a blank line, have a type that is safe by itself (SAFE), or a comment above
them that begins with "Not AG_GUARDED_BY" and gives the reason."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("engine", "src", "ngx_module")
MUTEX = re.compile(r"^(\s*)(?:mutable )?(?:Shared)?Mutex \w+;")
UNCHECKED = re.compile(
    r"\bstd::(?:(?:recursive_|timed_|shared_|recursive_timed_|shared_timed_)?mutex"
    r"|lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable(?:_any)?)\b"
)
CLASS = re.compile(r"\b(?:class|struct) (?:\[\[\w+\]\] |AG_\w+(?:\([^)]*\))? )?(\w+)")
# A constructor or destructor outside of its class, or any function inside a class that has no type.
SPECIAL_FUNCTION = re.compile(
    r"^\s*(?:(?:explicit|constexpr|inline|virtual|template ?<[^>]*>) )*"
    r"(?:(?:\w+(?:<[^>]*>)?::)*(\w+)(?:<[^>]*>)?::~?\1|~\w+|(\w+))\("
)
LOCK = re.compile(r"\b(?:MutexLock|ReaderLock|WriterLock) \w+[({]")
OUR_MUTEX = "engine/base/mutex.h"
MEMBER = re.compile(r"^\s*(?:mutable )?[\w:]+(?:<.*>)?[ *&]+(?:const )?\w+_?(?:\[[^\]]*\])?\s*(?:\{.*\}|=.*)?;")
SAFE = re.compile(
    r"^\s*(?:mutable )?(?:static |const |constexpr |CondVar |(?:Shared)?Mutex |std::atomic|(?:runtime::)?Signal |.*[&>] const |[\w:<>, ]+& )"
)


def shown(path):
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def unchecked_types(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := UNCHECKED.search(line.partition("//")[0]):
            yield f"{shown(path)}:{number}: {match[0]} (use the types of base/mutex.h)"


def unanalysed_locks(path):
    text = path.read_text()
    classes = set(CLASS.findall(text))
    depth = 0
    inside = False  # a constructor or destructor
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition("//")[0].rstrip()
        begun = None if inside else SPECIAL_FUNCTION.match(code)
        if begun and (begun[2] is None or begun[2] in classes):
            inside, depth = True, 0
        if not inside:
            continue
        depth += code.count("{") - code.count("}")
        if LOCK.search(code):
            yield f"{shown(path)}:{number}: {code.strip()} (in a constructor or destructor)"
        inside = depth > 0 or not code.endswith(("}", ";"))


def declarations(path):
    """The lines with their numbers. A declaration of several lines is joined to one, without its comments."""
    begun = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = line.partition("//")[0].rstrip()
        if begun is not None and line.strip():
            number, line = begun[0], f"{begun[1]} {code.strip()}".rstrip()
            code = line
        begun = None if not code or code[-1] in ";{}:" else (number, code)
        if begun is None:
            yield number, line


def problems_of(path):
    indent = None  # of the members of the class whose mutex was read last
    exempt = False
    for number, line in declarations(path):
        if match := MUTEX.match(line):
            indent, exempt = match[1], False
        elif indent is None or not line.strip() or not line.startswith(indent):
            indent = None
        elif line.startswith(indent + "//"):
            exempt = exempt or "Not AG_GUARDED_BY" in line
        elif not exempt and not line.startswith(indent + " ") and MEMBER.match(line) and not SAFE.match(line):
            yield f"{shown(path)}:{number}: {line.strip()} (not guarded: put a blank line before it)"
        else:
            exempt = False


def main():
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".cc", ".h")]
    problems = [problem for path in files for problem in problems_of(path)]
    for path in files:
        if path != ROOT / OUR_MUTEX:
            problems += [*unchecked_types(path), *unanalysed_locks(path)]
    print("\n".join(problems) or "guarded members: all behind a mutex are annotated")
    return len(problems) > 0


if __name__ == "__main__":
    sys.exit(main())
