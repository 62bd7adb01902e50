// JSON-RPC over streamable HTTP. Each message is a POST. The reply to a request is JSON or a stream
// of server-sent events, which is resumed over a new connection if it is interrupted.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "base/status.h"
#include "net/http_client.h"
#include "tools/mcp/http/event_stream.h"
#include "tools/mcp/oauth/authorizer.h"
#include "tools/mcp/protocol/client.h"
#include "tools/mcp/protocol/json_rpc.h"
#include "tools/mcp/protocol/revisions.h"

namespace agent_graph::tools::mcp {

// Connection state after one handshake with a server. Immutable.
struct Connection {
  ServerFacts facts;
  std::string session_id = {};  // empty: the server has no session, or its era has none
};

// The server's answer to one request.
struct HttpReply {
  int status = 0;
  std::string session_id;  // id of a new session
  RpcReply rpc;            // if status is not 200: the error in the body, if any
};

// Immutable and thread-safe: used by fibers of several engine threads. Calls suspend the calling
// fiber.
class Transport {
 public:
  struct Options {
    std::string url;
    net::HttpHeaders headers;
    std::vector<std::string> secrets;               // see Client::secrets
    std::shared_ptr<oauth::Authorizer> authorizer;  // null: authorization by `headers` only
  };

  Transport(Options options, std::shared_ptr<const net::HttpClient> http);

  // Returns the reply to request `id`. `connection` is null for "initialize". Messages of the
  // server that arrive before the reply are passed to `handlers`, on this fiber. Fails only if
  // there is no reply. The text of an error contains no secrets.
  Result<HttpReply> Request(const Connection* connection, int64_t id, const Outgoing& outgoing,
                            const StreamHandlers& handlers, const WaitOptions& wait) const;
  // Continues to read for the reply to request `id` from position `place` of its stream.
  Result<RpcReply> Resume(const Connection& connection, int64_t id, StreamPlace place,
                          const StreamHandlers& handlers, const WaitOptions& wait) const;
  // Sends a message that has no reply.
  Status Send(const Connection& connection, const json& message, const WaitOptions& wait) const;

  // A response whose head was read, with any status.
  struct Stream {
    std::unique_ptr<net::HttpCall> call;
    net::HttpHead head;
  };
  // Makes a request; the caller reads the response.
  Result<Stream> Post(const Connection* connection, int64_t id, const Outgoing& outgoing,
                      const WaitOptions& wait) const;
  // Opens a stream of the session: the one for unsolicited messages, or, if `last_event_id` is set,
  // the stream of that event, behind it.
  Result<Stream> Get(const Connection& connection, const std::string& last_event_id,
                     const WaitOptions& wait) const;
  void EndSession(const Connection& connection, const WaitOptions& wait) const;

  // Returns the error for a request with this status, including the text in its body.
  Status Refusal(int status, const RpcReply& rpc) const;
  // Like the function above, for a call whose head was read.
  Status Refusal(net::HttpCall& call, int status) const;
  // Those of the options, and the tokens in use.
  std::vector<std::string> secrets() const;

 private:
  net::HttpRequest MakeRequest(const Connection* connection, const WaitOptions& wait) const;
  net::HttpRequest MakePost(const Connection* connection, const json& message,
                            const WaitOptions& wait) const;
  Result<Stream> Start(net::HttpRequest request, const WaitOptions& wait) const;
  Result<Stream> StartAuthorized(const net::HttpRequest& request, const WaitOptions& wait) const;
  Result<RpcReply> ReadPlain(net::HttpCall& call, int64_t id, ReplyMemory* memory) const;
  // If `stream` has no call, a new connection is opened at `place`.
  Result<RpcReply> ReadStreamed(Stream stream, StreamPlace place, const Connection* connection,
                                int64_t id, const StreamHandlers& handlers,
                                const WaitOptions& wait) const;
  Result<RpcReply> Cleaned(Result<RpcReply> reply) const;
  RpcReply ReadRefusal(net::HttpCall& call) const;

  const Options options_;
  const std::shared_ptr<const net::HttpClient> http_;
};

}  // namespace agent_graph::tools::mcp
