// AG_CHECK: an invariant that stays on in release builds.
//
// For states that cannot be reached unless this program is wrong, never for bad input. A failed
// check writes one line to stderr (nginx's error log) and aborts the process: a worker that is
// restarted loses less than one that goes on with broken state.
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
