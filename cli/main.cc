// agent-graph: creates, checks, serves and tries agents.
#include <cstdio>
#include <string>
#include <vector>

#include "cli/program.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return agent_graph::cli::RunProgram(arguments, {.in = stdin, .out = stdout, .err = stderr});
}
