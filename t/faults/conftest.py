"""The fixtures of t/http, for tests that inject faults."""

import importlib.util
import pathlib
import sys

_HTTP = pathlib.Path(__file__).resolve().parent.parent / "http"
sys.path.insert(0, str(_HTTP))
_spec = importlib.util.spec_from_file_location("http_conftest", _HTTP / "conftest.py")
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)
globals().update({n: v for n, v in vars(_fixtures).items() if not n.startswith("__")})
