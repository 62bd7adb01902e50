// The arguments of one command: options with long names, in any place, and operands.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace agent_graph::cli {

struct Option {
  std::string_view name;        // without "--"
  std::string_view value = {};  // the name of its value in the help; empty: the option has none
  std::string_view help;
};

class Arguments {
 public:
  // Reads `words`, which follow the name of a command. kInvalidArgument says which word is wrong.
  static Result<Arguments> Parse(const std::vector<std::string>& words,
                                 std::span<const Option> options);

  const std::vector<std::string>& operands() const { return operands_; }
  bool Has(std::string_view option) const { return values_.contains(option); }
  std::string Value(std::string_view option, std::string_view otherwise) const;
  // kInvalidArgument if the value is no integer from `minimum` to `maximum`.
  Result<int64_t> Number(std::string_view option, int64_t otherwise, int64_t minimum,
                         int64_t maximum) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> operands_;
};

}  // namespace agent_graph::cli
