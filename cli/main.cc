// agent-graph: creates, checks, serves and tries agents.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "cli/program.h"

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    return agent_graph::cli::RunProgram(arguments, {.in = stdin, .out = stdout, .err = stderr});
  } catch (const std::exception& error) {
    // The standard library reports some failures of the system only so.
    std::fprintf(stderr, "agent-graph: %s\n", error.what());
    return 1;
  }
}
