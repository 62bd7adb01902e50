// One session with an MCP server over streamable HTTP: JSON-RPC requests, each a POST whose reply
// is JSON or a stream of server-sent events.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "net/http_client.h"
#include "runtime/cancellation.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kReplyBytesMax = 4 * 1024 * 1024;
inline constexpr size_t kListPagesMax = 32;

// What the caller of a request is ready to wait for.
struct Patience {
  const runtime::Cancellation& cancellation;
  Deadline deadline = kNoDeadline;
};

// Used by fibers of several engine threads at once. The session begins with the first request and
// begins anew when the server has forgotten it.
//
// Failures: kCancelled, kDeadlineExceeded, kUnavailable (no connection, a broken stream),
// kResourceExhausted (a reply past its bound), kInvalidArgument (the server refused; the text is
// its own).
class Client : public std::enable_shared_from_this<Client> {
 public:
  struct Options {
    std::string url;
    net::HttpHeaders headers;
    std::vector<std::string> secrets;  // never in a failure's text
    // The server says that its tools are others now, or a new session has begun. On any fiber.
    std::function<void()> on_tools_changed;
  };

  Client(Options options, std::shared_ptr<const net::HttpClient> http);

  // Every page of tools/list: objects with name, description, inputSchema.
  Result<std::vector<nlohmann::json>> ListTools(const Patience& patience);
  // The result of tools/call: content, structuredContent, isError. When the caller gives up, the
  // server is told.
  Result<nlohmann::json> CallTool(const std::string& name, const nlohmann::json& arguments,
                                  const Patience& patience);
  // Reads what the server sends by itself until its stream ends. Ok: it ended and may be opened
  // again; kNotFound: the server has none.
  Status Listen(const Patience& patience);
  bool announces_changes() const;
  // Ends the session at the server, if there is one.
  void End(const Patience& patience);

 private:
  struct Session {
    std::string id;  // empty: the server keeps none
    std::string protocol_version;
    bool announces_changes = false;
  };
  using SessionPtr = std::shared_ptr<const Session>;

  Result<SessionPtr> Connect(const Patience& patience);
  Result<SessionPtr> Initialize(const Patience& patience);
  void Forget(const SessionPtr& session);

  Result<nlohmann::json> Request(const char* method, const nlohmann::json& params,
                                 const Patience& patience);
  Result<nlohmann::json> RequestIn(const Session* session, int64_t id, const char* method,
                                   const nlohmann::json& params, const Patience& patience,
                                   bool& session_lost, std::string* new_session_id = nullptr);
  Status Notify(const Session& session, const nlohmann::json& message, const Patience& patience);

  net::HttpRequest MakeRequest(const Session* session, const Patience& patience) const;
  Result<nlohmann::json> ReadReply(net::HttpCall& call, const net::HttpHead& head, int64_t id,
                                   const Session* session, const Patience& patience);
  Result<nlohmann::json> ReadStream(net::HttpCall& call, int64_t id, const Session* session,
                                    const Patience& patience);
  Result<nlohmann::json> ResultOf(nlohmann::json reply) const;
  Status Refusal(net::HttpCall& call, int status) const;
  // A request or notification of the server's.
  void Receive(const nlohmann::json& message, const Session* session, const Patience& patience);
  void TellCancelled(const SessionPtr& session, int64_t id);

  const Options options_;
  const std::shared_ptr<const net::HttpClient> http_;
  std::atomic<int64_t> next_id_{1};

  mutable std::mutex mutex_;
  SessionPtr session_;  // guarded by mutex_
};

}  // namespace agent_graph::tools::mcp
