// agent-graph-admin; see src/admin/program.h.
#include "admin/program.h"

#include <cstdio>

int main(int argc, char** argv) {
  return agent_graph::admin::RunProgram({argv + 1, argv + argc}, {stdout, stderr});
}
