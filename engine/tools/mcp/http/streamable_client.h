// A session over streamable HTTP: JSON-RPC requests, each a POST whose reply is JSON or a stream of
// server-sent events.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "net/http_client.h"
#include "tools/mcp/client.h"
#include "tools/mcp/protocol.h"

namespace agent_graph::tools::mcp {

class StreamableClient : public Client, public std::enable_shared_from_this<StreamableClient> {
 public:
  struct Options {
    std::string url;
    net::HttpHeaders headers;
    std::vector<std::string> secrets;  // never in a failure's text
    // The server says that its tools are others now, or a new session has begun. On any fiber.
    std::function<void()> on_tools_changed;
  };

  StreamableClient(Options options, std::shared_ptr<const net::HttpClient> http);

  bool wants_listener() const override;
  Status Listen(const Patience& patience) override;
  void End(const Patience& patience) override;

 private:
  struct Session {
    std::string id;  // empty: the server keeps none
    ServerFacts facts;
  };
  using SessionPtr = std::shared_ptr<const Session>;

  Result<nlohmann::json> Request(const char* method, const nlohmann::json& params,
                                 const Patience& patience) override;
  Result<SessionPtr> Connect(const Patience& patience);
  Result<SessionPtr> Initialize(const Patience& patience);
  void Forget(const SessionPtr& session);
  // Whether an answer with this status says that the server does not know the session.
  static bool IsLost(const Session* session, int http_status);
  Status RefusedListener(net::HttpCall& call, int http_status, const SessionPtr& session);

  Result<nlohmann::json> RequestIn(const Session* session, int64_t id, const char* method,
                                   const nlohmann::json& params, const Patience& patience,
                                   bool& session_lost, std::string* new_session_id = nullptr);
  Status Notify(const Session& session, const nlohmann::json& message, const Patience& patience);

  net::HttpRequest MakeHttpRequest(const Session* session, const Patience& patience) const;
  Result<nlohmann::json> ReadReply(net::HttpCall& call, const net::HttpHead& head, int64_t id,
                                   const Session* session, const Patience& patience);
  Result<nlohmann::json> ReadStream(net::HttpCall& call, int64_t id, const Session* session,
                                    const Patience& patience);
  Result<nlohmann::json> ReadResult(nlohmann::json reply) const;
  Status Refusal(net::HttpCall& call, int status) const;
  // A request or notification of the server's.
  void Receive(const nlohmann::json& message, const Session* session, const Patience& patience);
  void TellCancelled(const SessionPtr& session, int64_t id);

  const Options options_;
  const std::shared_ptr<const net::HttpClient> http_;
  std::atomic<int64_t> next_id_{1};

  mutable std::mutex mutex_;
  SessionPtr session_;         // guarded by mutex_
  SessionPtr silent_session_;  // guarded by mutex_; one without a stream to listen to
};

}  // namespace agent_graph::tools::mcp
