// URLs with {arguments} behind the host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/environment.h"
#include "base/status.h"

namespace agent_graph::tools {

// Converts an argument to URL text: a string unchanged, a number or boolean as in JSON. Returns
// kInvalidArgument for null, objects and arrays, which callers handle themselves.
Result<std::string> UrlText(const json& value);

// A parsed URL template. Immutable and thread-safe.
class UrlTemplate {
 public:
  // Expands ${NAME} and appends the values to `secrets`. Returns kInvalidArgument that quotes no
  // value of the environment.
  static Result<UrlTemplate> Parse(std::string_view text, const Environment& environment,
                                   std::vector<std::string>& secrets);

  const std::vector<std::string>& arguments() const { return arguments_; }

  // Returns the URL for these arguments, an object. An argument in the path must be present and not
  // empty, and must not lead to another path (see PathTextFault). A query parameter with a missing
  // or null argument is omitted; one with an array is repeated for each element.
  Result<std::string> Fill(const json& arguments) const;

 private:
  Result<std::string> FillSegment(std::string_view segment, const json& arguments,
                                  size_t& next) const;
  Status AppendParameter(std::string_view parameter, const json& arguments, size_t& next,
                         std::string& url) const;

  std::string origin_;  // scheme and host
  // Arguments are marked by a control character, which cannot occur otherwise.
  std::vector<std::string> segments_;
  std::vector<std::string> parameters_;  // query parameters
  std::vector<std::string> arguments_;   // in the order of their marks
};

// Appends "?name=value" or "&name=value". An array is repeated, null is omitted, an object is
// written as JSON. Returns kInvalidArgument if the value contains a NUL.
Status AppendQuery(const std::string& name, const json& value, std::string& url);

}  // namespace agent_graph::tools
