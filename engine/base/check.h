// AG_CHECK: an invariant check that stays on in release builds.
//
// Use it for states that only a bug in this program can cause, never for bad input. A failed check
// writes one line to stderr (nginx's error log) and aborts the process: restarting a worker does
// less harm than continuing with broken state.
#pragma once

namespace agent_graph {

// Writes "file:line: check failed: <condition>: <explanation>" and aborts. Does not allocate.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const char* explanation) noexcept;

}  // namespace agent_graph

#define AG_CHECK(condition, explanation)                                            \
  do {                                                                              \
    if (!(condition)) [[unlikely]]                                                  \
      ::agent_graph::CheckFailed(__FILE_NAME__, __LINE__, #condition, explanation); \
  } while (false)
