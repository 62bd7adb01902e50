// JSON-RPC over streamable HTTP: each message is a POST, and the reply to a request comes as JSON
// or as a stream of server-sent events, which goes on over a new connection where it broke.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "base/status.h"
#include "net/http_client.h"
#include "tools/mcp/client.h"
#include "tools/mcp/http/event_stream.h"
#include "tools/mcp/oauth/authorizer.h"
#include "tools/mcp/protocol/json_rpc.h"
#include "tools/mcp/protocol/revisions.h"

namespace agent_graph::tools::mcp {

// A server as one client knows it from one introduction on; immutable.
struct Connection {
  ServerFacts facts;
  std::string session_id = {};  // empty: the server keeps none, or there are none in its era
};

// The server's answer to one request.
struct HttpReply {
  int status = 0;
  std::string session_id;  // that begins
  RpcReply rpc;            // of a status other than 200: the error in its body, if there is one
};

// Immutable; used by fibers of several engine threads at once.
class Transport {
 public:
  struct Options {
    std::string url;
    net::HttpHeaders headers;
    std::vector<std::string> secrets;               // never in a failure's text
    std::shared_ptr<oauth::Authorizer> authorizer;  // null: the headers are all there is
  };

  Transport(Options options, std::shared_ptr<const net::HttpClient> http);

  // The reply to request `id`. `connection` null: "initialize". Messages of the server's that come
  // before it go to `handlers`, on this fiber. Fails only when there is no reply.
  Result<HttpReply> Request(const Connection* connection, int64_t id, const Outgoing& outgoing,
                            const StreamHandlers& handlers, const Patience& patience) const;
  // Reads on for the reply to request `id`, whose stream was left at `place`.
  Result<RpcReply> Resume(const Connection& connection, int64_t id, StreamPlace place,
                          const StreamHandlers& handlers, const Patience& patience) const;
  // A message that has no reply.
  Status Send(const Connection& connection, const json& message, const Patience& patience) const;

  // A reply of which the head was read, whatever its status.
  struct Stream {
    std::unique_ptr<net::HttpCall> call;
    const net::HttpHead* head = nullptr;
  };
  // Makes a request; the caller reads the reply.
  Result<Stream> Post(const Connection* connection, int64_t id, const Outgoing& outgoing,
                      const Patience& patience) const;
  // Opens a session's stream: of what the server sends by itself, or, behind the event with this
  // id, the one that brought the event.
  Result<Stream> Get(const Connection& connection, const std::string& last_event_id,
                     const Patience& patience) const;
  void EndSession(const Connection& connection, const Patience& patience) const;

  // Why a request with this status failed, with what its body says.
  Status Refusal(int status, const RpcReply& rpc) const;
  // The same for a call of which the head was read.
  Status Refusal(net::HttpCall& call, int status) const;
  // `text` without secrets.
  std::string Cleaned(std::string text) const;

 private:
  net::HttpRequest MakeRequest(const Connection* connection, const Patience& patience) const;
  net::HttpRequest MakePost(const Connection* connection, const json& message,
                            const Patience& patience) const;
  Result<Stream> Start(net::HttpRequest request, const Patience& patience) const;
  Result<Stream> StartAuthorized(const net::HttpRequest& request, const Patience& patience) const;
  Result<RpcReply> ReadPlain(net::HttpCall& call, int64_t id) const;
  // If `stream` has no call, a new one starts at `place` at once.
  Result<RpcReply> ReadStreamed(Stream stream, StreamPlace place, const Connection* connection,
                                int64_t id, const StreamHandlers& handlers,
                                const Patience& patience) const;
  RpcReply ReadRefusal(net::HttpCall& call) const;

  const Options options_;
  const std::shared_ptr<const net::HttpClient> http_;
};

}  // namespace agent_graph::tools::mcp
