// agent-graph-admin; see src/admin/program.h.
#include "admin/program.h"

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  try {
    return agent_graph::admin::RunProgram({argv + 1, argv + argc}, {stdout, stderr});
  } catch (const std::exception& error) {
    // The standard library reports some failures of the system only so.
    std::fprintf(stderr, "agent-graph-admin: %s\n", error.what());
    return 1;
  }
}
