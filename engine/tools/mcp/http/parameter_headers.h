// Arguments of a tool that go into HTTP headers, too: a server marks them in the tool's schema with
// "x-mcp-header", so that what stands between client and server can route by them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"
#include "net/http_client.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kParameterHeadersMax = 32;            // of one tool
inline constexpr size_t kParameterHeaderBytesMax = 8 * 1024;  // of one value

class ParameterHeaders {
 public:
  // Those of a tool's input schema. kInvalidArgument says why the tool must not be offered: a mark
  // that is no header name, that is there twice, or at a place or type where none may be.
  static Result<ParameterHeaders> Read(const json& schema);

  // "Mcp-Param-…" for each marked argument that is there and is not null. kInvalidArgument: a value
  // does not fit into a header.
  Result<net::HttpHeaders> Of(const json& arguments) const;

 private:
  struct Marked {
    std::string header;             // its whole name
    std::vector<std::string> path;  // names of properties from the arguments on
  };

  Status Visit(const json& schema, bool reachable, size_t depth);
  Status Add(const json& property, bool reachable);

  std::vector<Marked> marked_;
  std::vector<std::string> path_;  // while the schema is read
};

// `value` as the text of a header: itself, or "=?base64?…?=" when HTTP would change or refuse it.
std::string HeaderText(std::string_view value);

}  // namespace agent_graph::tools::mcp
