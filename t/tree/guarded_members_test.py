#!/usr/bin/python3
"""guarded_members_test.py   Shows guarded_members.py mistakes that it must find, and code that it must accept."""

import pathlib
import tempfile
import unittest

import guarded_members


def _findings(code, find):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "code.h"
        path.write_text(code)
        return list(find(path))


class LocksThatClangDoesNotAnalyse(unittest.TestCase):
    def _expect(self, count, code):
        self.assertEqual(count, len(_findings(code, guarded_members.unanalysed_locks)), code)

    def test_outside_of_the_class(self):
        self._expect(1, "Table::Table() {\n  MutexLock lock(mutex_);\n}\n")
        self._expect(1, "Table::~Table() {\n  WriterLock lock(mutex_);\n}\n")
        self._expect(1, "Store::Table::Table(int rows)\n    : rows_(rows) {\n  MutexLock lock(mutex_);\n}\n")
        self._expect(1, "template <typename T>\nTable<T>::Table() {\n  MutexLock lock(mutex_);\n}\n")

    def test_inside_the_class(self):
        for head in ("Table()", "explicit Table(int rows)", "~Table()", "virtual ~Table()", "constexpr Table()"):
            self._expect(1, f"class Table {{\n  {head} {{\n    MutexLock lock(mutex_);\n  }}\n}};\n")
            self._expect(1, f"struct AG_CAPABILITY(\"rows\") Table {{\n  {head} {{ MutexLock lock{{mutex_}}; }}\n}};\n")
        self._expect(1, "class Table {\n  Table(int rows)\n      : rows_(rows) {\n    MutexLock lock(mutex_);\n  }\n};\n")

    def test_accepts_locks_of_other_functions(self):
        self._expect(0, "void Table::Add() {\n  MutexLock lock(mutex_);\n}\n")
        self._expect(0, "class Table {\n  Table() {}\n  void Add() {\n    MutexLock lock(mutex_);\n  }\n};\n")
        self._expect(0, "class Table {\n  Table();\n  Row At() { ReaderLock lock(mutex_); }\n};\n")
        self._expect(0, "class Table;\nvoid Use() {\n  Table(1);\n  MutexLock lock(mutex_);\n}\n")


class MembersBehindAMutex(unittest.TestCase):
    def test_need_an_annotation(self):
        code = "class Table {\n  Mutex mutex_;\n  int rows_ AG_GUARDED_BY(mutex_) = 0;\n%s};\n"
        self.assertEqual([], _findings(code % "", guarded_members.problems_of))
        self.assertEqual([], _findings(code % "\n  int columns_ = 0;\n", guarded_members.problems_of))
        self.assertEqual(1, len(_findings(code % "  int columns_ = 0;\n", guarded_members.problems_of)))


if __name__ == "__main__":
    unittest.main()
