// Tool arguments that are also sent as HTTP headers. A server marks them with "x-mcp-header" in the
// tool's schema, so that proxies between client and server can route by them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"
#include "net/http_client.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kParameterHeadersMax = 32;            // per tool
inline constexpr size_t kParameterHeaderBytesMax = 8 * 1024;  // per value

// The marked arguments of one tool. Immutable and thread-safe.
class ParameterHeaders {
 public:
  // Reads the marks of a tool's input schema. Returns kInvalidArgument, with the reason, if the
  // tool must not be offered: a mark is not a header name, occurs twice, or is at a place or type
  // where marks are not allowed.
  static Result<ParameterHeaders> Read(const json& schema);

  // Returns "Mcp-Param-…" headers for the marked arguments that are present and not null. Returns
  // kInvalidArgument if a value cannot be sent in a header.
  Result<net::HttpHeaders> Of(const json& arguments) const;

 private:
  struct Marked {
    std::string header;             // complete header name
    std::vector<std::string> path;  // property names, from the arguments down
  };

  Status Visit(const json& schema, bool reachable, size_t depth);
  Status Add(const json& property, bool reachable);

  std::vector<Marked> marked_;
  std::vector<std::string> path_;  // current path while the schema is read
};

// Returns `value` as header text: unchanged, or as "=?base64?…?=" if HTTP would change or refuse
// it.
std::string HeaderText(std::string_view value);

}  // namespace agent_graph::tools::mcp
