// URLs with {arguments} behind the host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/environment.h"
#include "base/status.h"

namespace agent_graph::tools {

// What an argument is within a URL: a text as it is, a number or boolean as JSON writes it. Empty
// optional semantics are the caller's: null and structures give kInvalidArgument.
Result<std::string> UrlText(const json& value);

// Immutable.
class UrlTemplate {
 public:
  // Expands ${NAME}; kInvalidArgument says what is wrong without quoting a value of the
  // environment, which is also appended to `secrets`.
  static Result<UrlTemplate> Parse(std::string_view text, const Environment& environment,
                                   std::vector<std::string>& secrets);

  const std::vector<std::string>& arguments() const { return arguments_; }

  // The URL for these arguments, an object. An argument of the path must be there and not empty,
  // and must not lead a server to another path (see PathTextFault). A part of the query with an
  // absent (or null) argument is left out; one with an array is repeated for each element.
  Result<std::string> Fill(const json& arguments) const;

 private:
  Result<std::string> FillSegment(std::string_view segment, const json& arguments,
                                  size_t& next) const;
  Status AppendParameter(std::string_view parameter, const json& arguments, size_t& next,
                         std::string& url) const;

  std::string origin_;  // scheme and host
  // An argument's place is marked by a control character, which cannot occur otherwise.
  std::vector<std::string> segments_;
  std::vector<std::string> parameters_;  // of the query
  std::vector<std::string> arguments_;   // in the order of their places
};

// Adds "?name=value" or "&name=value"; an array is repeated, null is left out, an object is JSON.
// kInvalidArgument: the value holds a NUL.
Status AppendQuery(const std::string& name, const json& value, std::string& url);

}  // namespace agent_graph::tools
