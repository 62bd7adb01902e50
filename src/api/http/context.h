// The context of a handler: the request, the caller, and the parts of the service.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "api/http/envelope.h"
#include "api/http/follower_limit.h"
#include "api/http/page_reads.h"
#include "api/http/route.h"
#include "api/http/service_secret.h"
#include "api/http/validation.h"
#include "auth/guard.h"
#include "bridge/exchange.h"
#include "settings/settings.h"
#include "state/service.h"

namespace agent_graph::evals {
class ReportDirectory;
}
namespace agent_graph::graph {
class CompiledGraph;
}
namespace agent_graph::live {
struct LiveContext;
}
namespace agent_graph::memory {
class MemoryStore;
}
namespace agent_graph::media {
class Extractor;
class Storage;
}  // namespace agent_graph::media
namespace agent_graph::limits {
class SharedPlaces;
class SharedRate;
}  // namespace agent_graph::limits
namespace agent_graph::run {
class RemoteTools;
class RunHost;
class Runner;
}  // namespace agent_graph::run
namespace agent_graph::runtime {
class Runtime;
}
namespace agent_graph::tools {
class Catalog;
}

namespace agent_graph::api {

// The parts of the service that handlers use. Everything outlives every exchange and is
// thread-safe.
struct ApiContext {
  std::span<const Route> routes;  // RequestHead::route is an index into this
  const settings::Settings* settings = nullptr;
  run::Runner* runner = nullptr;
  run::RunHost* host = nullptr;           // executes accepted runs; null: this worker does not
  state::Service* state = nullptr;        // null: no checkpointer
  memory::MemoryStore* memory = nullptr;  // null: no store
  std::shared_ptr<const graph::CompiledGraph> graph;
  tools::Catalog* catalog = nullptr;
  run::RemoteTools* remote_tools = nullptr;
  runtime::Runtime* runtime = nullptr;
  auth::Guard* guard = nullptr;
  const live::LiveContext* live = nullptr;  // null without a live agent in the graph
  evals::ReportDirectory* reports = nullptr;
  media::Storage* files = nullptr;
  media::Extractor* extractor = nullptr;
  // Null: the loop counts requests, or there is no rate limit.
  limits::SharedRate* shared_rate = nullptr;
  limits::SharedPlaces* shared_sockets = nullptr;  // null: this host counts its WebSockets itself
  bridge::Outbox* log = nullptr;
  const IdGenerator* ids = nullptr;  // generates ids of threads and messages
  std::shared_ptr<ServiceSecret> secret = std::make_shared<ServiceSecret>();
  std::shared_ptr<FollowerLimit> followers = std::make_shared<FollowerLimit>();
  // Searches pass over many rows, so others do not wait for them.
  std::shared_ptr<PageReads> page_reads = std::make_shared<PageReads>(kPageReadsMax);
  std::shared_ptr<PageReads> page_searches = std::make_shared<PageReads>(kPageReadsMax);
  // A report takes long to parse, and there is no credential that says who asks for it.
  std::shared_ptr<PageReads> report_reads = std::make_shared<PageReads>(1);
};

using auth::Caller;

// A request. It belongs to one fiber and is not thread-safe; calls to the guard and to Explain may
// suspend that fiber.
class HandlerContext {
 public:
  HandlerContext(bridge::Exchange& exchange, const ApiContext& api);
  ~HandlerContext();
  HandlerContext(const HandlerContext&) = delete;
  HandlerContext& operator=(const HandlerContext&) = delete;

  const ApiContext& api() const { return api_; }
  const Route& route() const { return api_.routes[head().route]; }
  const Caller& caller() const { return caller_; }
  // First step of the guard, which uses the head only. Also counts the request against the rate
  // limit. Returns false if the request was refused and answered.
  bool Admit(const Route& route);
  // Second step of the guard, for a thread that the body names. Returns false if the request was
  // refused and answered.
  bool AdmitBodyThread(const Route& route);
  // Same as AdmitBodyThread, but returns the error and does not answer.
  std::optional<ErrorInfo> CheckBodyThread(const Route& route);
  // The same for a thread that is not named by the body.
  std::optional<ErrorInfo> CheckThread(const Route& route, const std::string& thread_id);
  bridge::Exchange& exchange() { return exchange_; }
  const bridge::RequestHead& head() const { return exchange_.head(); }
  state::Service& state() { return *api_.state; }         // for routes of the checkpointer only
  memory::MemoryStore& memory() { return *api_.memory; }  // for routes of the store only

  // The body: a JSON object, empty for a route without a body.
  const json& body() const { return *body_; }
  size_t body_bytes() const { return body_bytes_; }
  // Replaces the body. `bytes` is the size of its text in the request.
  void SetBody(json body, size_t bytes);

  // {thread_id} and {message_id} of the path. An invalid id is added to `problems`.
  const std::string& ThreadId(Problems& problems);
  const std::string& MessageId(Problems& problems);

  // Exactly one of these ends a request that is not streamed.
  void Succeed(std::string data_json, std::string_view message = "OK");
  // `headers` are further ones of the response, such as Location.
  void Succeed(int status, std::string data_json, bridge::HeaderList headers);
  void Fail(const Status& status);
  void Fail(const ErrorInfo& error, const bridge::HeaderList& headers = {});
  // Returns the error that the client gets for `status`, and logs errors of status 500 and above.
  // If a cached owner let the request pass and the thread does not exist, it asks the guard again.
  ErrorInfo Explain(const Status& status);

  // Returns the head of a response: `headers`, and those of the guard and the route. The loop adds
  // the headers of every response (headers.h).
  bridge::ReplyHead MakeHead(int status, bridge::HeaderList headers) const;
  // Writes a line with the request id to the worker's error log. Never blocks.
  void Log(bridge::LogLevel level, const std::string& text);

 private:
  void Send(Reply reply, std::string outcome);
  void SendData(int status, std::string data_json, std::string_view message,
                bridge::HeaderList headers);
  auth::GuardRequest Ask(const Route& route) const;
  bool IsDueToThread(const auth::GuardRequest& request, const auth::Refusal& refusal) const;
  // Counts the request in Redis. Returns false if it is over the limit; `rate_refusal_` is then the
  // error.
  bool CountShared(const std::string& user_id);

  bridge::Exchange& exchange_;
  const ApiContext& api_;
  Caller caller_;
  auth::Permission permission_;
  std::string guarded_thread_;        // thread that the guard was asked about
  bridge::HeaderList guard_headers_;  // for every response to this request
  std::optional<ErrorInfo> rate_refusal_;
  std::unique_ptr<json> body_;
  size_t body_bytes_ = 0;
};

// Returns the outcome of a request for the access log: "ok", "rejected", "error", or the reason of
// its cancellation.
std::string OutcomeOf(const ErrorInfo& error, runtime::CancelReason reason);

}  // namespace agent_graph::api
