#include "cli/program.h"

#include <algorithm>
#include <string_view>

#include "base/nearest_word.h"
#include "base/version.h"
#include "cli/terminal_text.h"

namespace agent_graph::cli {
namespace {

constexpr const Command* kCommands[] = {&kInitCommand, &kCheckCommand, &kRunCommand,
                                        &kChatCommand, &kDrawCommand,  &kBenchCommand};

constexpr Option kCommonOptions[] = {
    {.name = "help", .help = "shows this text"},
    {.name = "version", .help = "shows the version"},
};

void PrintOverview(std::FILE* out) {
  std::fputs("usage: agent-graph COMMAND [OPTIONS]\n\nCommands:\n", out);
  for (const Command* command : kCommands) {
    std::fprintf(out, "  %-8s%s\n", std::string(command->name).c_str(),
                 std::string(command->summary).c_str());
  }
  std::fputs("\n`agent-graph COMMAND --help` describes a command; --version shows the version.\n",
             out);
}

void PrintOptions(std::FILE* out, std::span<const Option> options) {
  for (const Option& option : options) {
    std::string name = "--" + std::string(option.name);
    if (!option.value.empty()) name += " " + std::string(option.value);
    std::fprintf(out, "  %-22s%s\n", name.c_str(), std::string(option.help).c_str());
  }
}

void PrintHelp(const Command& command, std::FILE* out) {
  std::fprintf(out, "usage: agent-graph %s [OPTIONS]%s%s\n\n%s\nOptions:\n",
               std::string(command.name).c_str(), command.operands.empty() ? "" : " ",
               std::string(command.operands).c_str(), std::string(command.help).c_str());
  PrintOptions(out, command.options);
  PrintOptions(out, kCommonOptions);
}

int Fail(const Streams& streams, const Status& status) {
  if (!status.message().empty()) {
    std::fprintf(streams.err, "agent-graph: %s\n", TerminalText(status.message()).c_str());
  }
  return status.code() == StatusCode::kInvalidArgument ? 2 : 1;
}

Status UnknownCommand(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Command* command : kCommands) names.push_back(command->name);
  const std::string nearest(NearestWord(name, names));
  return Status(StatusCode::kInvalidArgument,
                "there is no command \"" + name + "\"; " +
                    (nearest.empty() ? "" : "did you mean " + nearest + "? ") +
                    "`agent-graph --help` lists all");
}

int RunCommand(const Command& command, const std::vector<std::string>& words,
               const Streams& streams) {
  std::vector<Option> options(command.options.begin(), command.options.end());
  options.insert(options.end(), std::begin(kCommonOptions), std::end(kCommonOptions));
  const Result<Arguments> arguments = Arguments::Parse(words, options);
  const std::string advice =
      "; `agent-graph " + std::string(command.name) + " --help` shows how to call it";
  if (!arguments.ok()) {
    return Fail(streams,
                Status(StatusCode::kInvalidArgument, arguments.status().message() + advice));
  }
  if (arguments->Has("help")) {
    PrintHelp(command, streams.out);
    return 0;
  }
  if (arguments->Has("version")) {
    std::fprintf(streams.out, "agent-graph %s\n", kVersion);
    return 0;
  }
  const size_t operands = arguments->operands().size();
  if (operands < command.operands_min || operands > command.operands_max) {
    const std::string wanted =
        command.operands.empty() ? "no arguments" : std::string(command.operands);
    return Fail(streams, Status(StatusCode::kInvalidArgument,
                                std::string(command.name) + " takes " + wanted + advice));
  }
  const Status status = command.run(*arguments, streams);
  return status.ok() ? 0 : Fail(streams, status);
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments, const Streams& streams) {
  const std::string first = arguments.empty() ? "" : arguments[0];
  if (first == "--help" || first == "-h" || first == "help") {
    PrintOverview(streams.out);
    return 0;
  }
  if (first == "--version") {
    std::fprintf(streams.out, "agent-graph %s\n", kVersion);
    return 0;
  }
  const auto found = std::ranges::find(kCommands, first, &Command::name);
  if (found != std::end(kCommands)) {
    return RunCommand(**found, {arguments.begin() + 1, arguments.end()}, streams);
  }
  if (first.empty()) {
    PrintOverview(streams.err);
    return 2;
  }
  return Fail(streams, UnknownCommand(first));
}

}  // namespace agent_graph::cli
