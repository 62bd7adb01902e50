#include "cli/arguments.h"

#include <getopt.h>

#include <charconv>

namespace agent_graph::cli {
namespace {

// A copy of the words in the form that getopt takes: argv[0] is the name of the program.
std::vector<char*> ArgumentVector(std::vector<std::string>& words) {
  static char program[] = "agent-graph";
  std::vector<char*> vector = {program};
  for (std::string& word : words) vector.push_back(word.data());
  vector.push_back(nullptr);
  return vector;
}

}  // namespace

Result<Arguments> Arguments::Parse(const std::vector<std::string>& words,
                                   std::span<const Option> options) {
  std::vector<std::string> copies = words;
  std::vector<char*> vector = ArgumentVector(copies);
  std::vector<std::string> names;
  for (const Option& one : options) names.emplace_back(one.name);
  std::vector<option> known;
  known.reserve(options.size() + 1);
  for (size_t i = 0; i < options.size(); ++i) {
    known.push_back({.name = names[i].c_str(),
                     .has_arg = options[i].value.empty() ? no_argument : required_argument,
                     .flag = nullptr,
                     .val = 0});
  }
  known.push_back({});
  Arguments arguments;
  optind = 0;  // starts a new scan
  const int count = static_cast<int>(vector.size()) - 1;
  for (;;) {
    int index = 0;
    // NOLINTNEXTLINE: the program has one thread so far
    const int found = getopt_long(count, vector.data(), ":", known.data(), &index);
    if (found == -1) break;
    if (found == 0) {
      arguments.values_[names[static_cast<size_t>(index)]] = optarg != nullptr ? optarg : "";
      continue;
    }
    const std::string word = vector[static_cast<size_t>(optind) - 1];
    if (found == ':') return Status(StatusCode::kInvalidArgument, word + " needs a value");
    return Status(StatusCode::kInvalidArgument, "there is no option " + word);
  }
  arguments.operands_.assign(vector.begin() + optind, vector.end() - 1);
  return arguments;
}

std::string Arguments::Value(std::string_view option, std::string_view otherwise) const {
  const auto found = values_.find(option);
  return found != values_.end() ? found->second : std::string(otherwise);
}

Result<int64_t> Arguments::Number(std::string_view option, int64_t otherwise, int64_t minimum,
                                  int64_t maximum) const {
  const auto found = values_.find(option);
  if (found == values_.end()) return otherwise;
  const std::string& text = found->second;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && number >= minimum &&
      number <= maximum) {
    return number;
  }
  return Status(StatusCode::kInvalidArgument,
                "--" + std::string(option) + ": must be a number from " + std::to_string(minimum) +
                    " to " + std::to_string(maximum) + ", not " + text);
}

}  // namespace agent_graph::cli
