// One session with an MCP server, whatever carries it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/cancellation.h"

namespace agent_graph::runtime {
class Runtime;
}

namespace agent_graph::tools::mcp {

inline constexpr size_t kListPagesMax = 32;
inline constexpr size_t kListedToolsMax = 4096;
inline constexpr size_t kListBytesMax = 8 * 1024 * 1024;  // of all pages as JSON

// What the caller of a request is ready to wait for.
struct Patience {
  const runtime::Cancellation& cancellation;
  Deadline deadline = kNoDeadline;
};

// Used by fibers of several engine threads at once. The session begins with the first request and
// begins anew when it was lost.
//
// Failures: kCancelled, kDeadlineExceeded, kUnavailable (no connection, a broken stream, a program
// that ended), kResourceExhausted (a reply past its bound), kInvalidArgument (the server refused;
// the text is its own).
class Client {
 public:
  virtual ~Client() = default;

  // Every page of tools/list: objects with name, description, inputSchema.
  Result<std::vector<nlohmann::json>> ListTools(const Patience& patience);
  // The result of tools/call: content, structuredContent, isError. When the caller gives up, the
  // server is told.
  Result<nlohmann::json> CallTool(const std::string& name, const nlohmann::json& arguments,
                                  const Patience& patience);

  // The server tells of changes, but only to somebody who listens.
  virtual bool wants_listener() const = 0;
  // Reads what the server sends by itself until its stream ends. Ok: there was one, and it may be
  // opened again; kNotFound: this session has none, and wants no listener any more.
  virtual Status Listen(const Patience& patience) = 0;
  // Ends the session at the server, if there is one.
  virtual void End(const Patience& patience) = 0;

 protected:
  virtual Result<nlohmann::json> Request(const char* method, const nlohmann::json& params,
                                         const Patience& patience) = 0;
};

}  // namespace agent_graph::tools::mcp
