// A command of agent-graph, as program.cc lists them.
#pragma once

#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

#include "base/status.h"
#include "cli/arguments.h"

namespace agent_graph::cli {

struct Streams {
  std::FILE* in = nullptr;
  std::FILE* out = nullptr;
  std::FILE* err = nullptr;
};

struct Command {
  std::string_view name;
  std::string_view operands = {};  // as the help shows them
  size_t operands_min = 0;
  size_t operands_max = 0;
  std::string_view summary;  // one line
  std::string_view help;     // paragraphs; ends with a line break
  std::span<const Option> options = {};
  // A failure is printed as one line, after the name of the program, and gives exit code 1, or 2 if
  // it is kInvalidArgument. A command that has printed its problems itself returns an empty
  // message.
  Status (*run)(const Arguments& arguments, const Streams& streams);
};

extern const Command kInitCommand;
extern const Command kCheckCommand;
extern const Command kRunCommand;
extern const Command kChatCommand;
extern const Command kDrawCommand;
extern const Command kBenchCommand;

}  // namespace agent_graph::cli
