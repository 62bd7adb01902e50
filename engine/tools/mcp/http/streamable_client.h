// Client of an MCP server over streamable HTTP, for both protocol eras.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/mutex.h"
#include "base/status.h"
#include "net/http_client.h"
#include "tools/mcp/http/session_call.h"
#include "tools/mcp/http/transport.h"
#include "tools/mcp/protocol/client.h"
#include "tools/mcp/protocol/revisions.h"

namespace agent_graph::tools::mcp {

// Thread-safe, like every Client. The connection is shared by all fibers.
class StreamableClient : public Client, public std::enable_shared_from_this<StreamableClient> {
 public:
  struct Options {
    Transport::Options transport;
    Eras eras;
    bool elicitation = true;        // the server may ask the user
    bool session_per_call = false;  // each call that may pause opens its own session
    // Called when the server announces that its tools have changed, or when a new connection was
    // opened. On any fiber.
    std::function<void()> on_tools_changed;
  };

  StreamableClient(Options options, std::shared_ptr<const net::HttpClient> http);

  bool announces_changes() const override;
  bool wants_listener() const override;
  Result<std::chrono::milliseconds> Listen(const WaitOptions& wait) override;
  void End(const WaitOptions& wait) override;

 private:
  using ConnectionPtr = std::shared_ptr<const Connection>;

  Result<RpcReply> Request(const Outgoing& outgoing, const WaitOptions& wait) override;
  Result<RpcReply> ContinueCall(const Continuation& place, const json& answer,
                                const Outgoing& outgoing, const WaitOptions& wait) override;
  bool marks_headers() const override;
  std::vector<std::string> secrets() const override { return transport_->secrets(); }
  // Gets the server's description with "server/discover", or with "initialize" if the server does
  // not support that.
  Result<ConnectionPtr> Connect(const WaitOptions& wait);
  Result<ConnectionPtr> Introduce(const WaitOptions& wait);
  // Returns nullopt if the server is of the session era.
  Result<std::optional<ServerFacts>> Discover(const WaitOptions& wait);
  Result<ConnectionPtr> Initialize(const WaitOptions& wait);
  void Forget(const ConnectionPtr& connection);

  // Both return the reply to a request in `connection`; CallInSession is for calls that may pause.
  Result<HttpReply> RequestIn(const ConnectionPtr& connection, int64_t id, const Outgoing& outgoing,
                              const WaitOptions& wait);
  Result<HttpReply> CallInSession(const ConnectionPtr& connection, int64_t id,
                                  const Outgoing& outgoing, const WaitOptions& wait);
  // Like CallInSession, in a session that is used for this call only.
  Result<HttpReply> CallInOwnSession(const Outgoing& outgoing, const WaitOptions& wait);
  std::shared_ptr<SessionCall> MakeCall(const ConnectionPtr& connection, int64_t id,
                                        SessionQuestions& questions);
  void EndInBackground(const ConnectionPtr& connection);
  Result<RpcReply> ReadReply(Result<HttpReply> reply) const;
  // Handles a request or notification of the server.
  void Receive(const json& message, const Connection& connection, const WaitOptions& wait);
  void SendCancelled(const ConnectionPtr& connection, int64_t id);

  Result<Transport::Stream> OpenListener(const Connection& connection, const StreamPlace& place,
                                         const WaitOptions& wait);
  Status RefusedListener(Transport::Stream& stream, const ConnectionPtr& connection);
  // The position at which the listener of `connection` resumes; KeepPlace stores it.
  StreamPlace PlaceOf(const ConnectionPtr& connection) const;
  void KeepPlace(const ConnectionPtr& connection, StreamPlace place);
  void Silence(const ConnectionPtr& connection);

  const Options options_;
  const std::shared_ptr<const Transport> transport_;
  std::atomic<int64_t> next_id_{1};

  mutable Mutex mutex_;
  ConnectionPtr connection_ AG_GUARDED_BY(mutex_);
  bool knows_sessions_ AG_GUARDED_BY(mutex_) = false;  // the server answered "initialize" before
  ConnectionPtr silent_ AG_GUARDED_BY(mutex_);         // one without a stream to listen to
  ConnectionPtr listened_ AG_GUARDED_BY(mutex_);       // one that was listened to, up to place_
  StreamPlace place_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::tools::mcp
