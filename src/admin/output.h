// The output streams of agent-graph-admin.
#pragma once

#include <cstdint>
#include <cstdio>

#include "base/status.h"

namespace agent_graph::admin {

// Results go to `out`, errors to `err`.
struct Output {
  std::FILE* out;
  std::FILE* err;
};

// Writes the line of an error and returns the exit status for it.
inline int Fail(const Output& output, const Status& status) {
  std::fprintf(output.err, "agent-graph-admin: %s\n", status.ToString().c_str());
  return 1;
}

// For fprintf.
inline unsigned long long Number(uint64_t value) {
  return value;
}

}  // namespace agent_graph::admin
