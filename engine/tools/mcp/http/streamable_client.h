// Client of an MCP server over streamable HTTP, for both protocol eras.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "agent_graph/json_fwd.h"
#include "base/mutex.h"
#include "base/status.h"
#include "net/http_client.h"
#include "tools/mcp/client.h"
#include "tools/mcp/http/session_call.h"
#include "tools/mcp/http/transport.h"
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
  Result<std::chrono::milliseconds> Listen(const Patience& patience) override;
  void End(const Patience& patience) override;

 private:
  using ConnectionPtr = std::shared_ptr<const Connection>;

  Result<RpcReply> Request(const Outgoing& outgoing, const Patience& patience) override;
  Result<RpcReply> GoOn(const Continuation& place, const json& answer, const Outgoing& outgoing,
                        const Patience& patience) override;
  bool marks_headers() const override;
  // Gets the server's description with "server/discover", or with "initialize" if the server does
  // not support that.
  Result<ConnectionPtr> Connect(const Patience& patience);
  Result<ConnectionPtr> Introduce(const Patience& patience);
  // Returns nullopt if the server is of the session era.
  Result<std::optional<ServerFacts>> Discover(const Patience& patience);
  Result<ConnectionPtr> Initialize(const Patience& patience);
  void Forget(const ConnectionPtr& connection);

  // Both return the reply to a request in `connection`; CallInSession is for calls that may pause.
  Result<HttpReply> RequestIn(const ConnectionPtr& connection, int64_t id, const Outgoing& outgoing,
                              const Patience& patience);
  Result<HttpReply> CallInSession(const ConnectionPtr& connection, int64_t id,
                                  const Outgoing& outgoing, const Patience& patience);
  // Like CallInSession, in a session that is used for this call only.
  Result<HttpReply> CallInOwnSession(const Outgoing& outgoing, const Patience& patience);
  std::shared_ptr<SessionCall> MakeCall(const ConnectionPtr& connection, int64_t id,
                                        SessionQuestions& questions);
  void EndInBackground(const ConnectionPtr& connection);
  Result<RpcReply> ReadReply(Result<HttpReply> reply) const;
  // Handles a request or notification of the server.
  void Receive(const json& message, const Connection& connection, const Patience& patience);
  void TellCancelled(const ConnectionPtr& connection, int64_t id);

  Result<Transport::Stream> OpenListener(const Connection& connection, const StreamPlace& place,
                                         const Patience& patience);
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
