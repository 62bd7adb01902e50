"""Options and reports of the sanitizer runtimes."""

import pathlib
import re

from . import environment

# Printed once by each process that switches stacks. It is harmless: Boost.Context reports each
# switch to the sanitizer.
_NOTE_ON_FIBERS = re.compile(r"==\d+==WARNING: ASan doesn't fully support makecontext.*")
_SUPPRESSIONS = pathlib.Path(__file__).resolve().parent


def variables(directory):
    """Environment variables that make nginx's sanitizer reports go to files in `directory`."""
    log = f"log_path='{directory}/sanitizer'"
    if environment.SANITIZER == "address":
        return {
            # Every dynamic module defines ngx_modules; nginx finds each one with dlsym.
            "ASAN_OPTIONS": f"detect_odr_violation=0:detect_stack_use_after_return=1:{log}",
            "LSAN_OPTIONS": f"suppressions='{_SUPPRESSIONS}/leak.suppress':print_suppressions=0",
            "UBSAN_OPTIONS": f"print_stacktrace=1:{log}",
        }
    if environment.SANITIZER == "thread":
        return {
            "TSAN_OPTIONS": f"suppressions='{_SUPPRESSIONS}/thread.suppress':"
            f"print_suppressions=0:second_deadlock_stack=1:{log}",
        }
    return {}


def reports(directory):
    """The text of every report written so far."""
    texts = [path.read_text(errors="replace") for path in sorted(directory.glob("sanitizer.*"))]
    return [text for text in texts if _NOTE_ON_FIBERS.sub("", text).strip()]
