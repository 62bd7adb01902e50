// What a handler works with: the request, the caller and the parts of the service.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "api/envelope.h"
#include "api/routes.h"
#include "api/validation.h"
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
class SharedRate;
}
namespace agent_graph::run {
class RemoteTools;
class Runner;
}  // namespace agent_graph::run
namespace agent_graph::runtime {
class Runtime;
}
namespace agent_graph::tools {
class Catalog;
}

namespace agent_graph::api {

// The service as the handlers see it. Everything outlives every exchange; all of it is thread-safe.
struct ApiContext {
  const settings::Settings* settings = nullptr;
  run::Runner* runner = nullptr;
  state::Service* state = nullptr;        // null: no checkpointer
  memory::MemoryStore* memory = nullptr;  // null: no store
  std::shared_ptr<const graph::CompiledGraph> graph;
  tools::Catalog* catalog = nullptr;
  run::RemoteTools* remote_tools = nullptr;
  runtime::Runtime* runtime = nullptr;
  auth::Guard* guard = nullptr;
  const live::LiveContext* live = nullptr;  // of a graph with a live agent
  evals::ReportDirectory* reports = nullptr;
  media::Storage* files = nullptr;
  media::Extractor* extractor = nullptr;
  limits::SharedRate* shared_rate = nullptr;  // null: the loop counts, or nobody
  bridge::Outbox* log = nullptr;
  const IdGenerator* ids = nullptr;  // of threads and messages
};

using auth::Caller;

// One request on its fiber.
class HandlerContext {
 public:
  HandlerContext(bridge::Exchange& exchange, const ApiContext& api);
  ~HandlerContext();
  HandlerContext(const HandlerContext&) = delete;
  HandlerContext& operator=(const HandlerContext&) = delete;

  const ApiContext& api() const { return api_; }
  const Caller& caller() const { return caller_; }
  // The guard's first step, from the head alone. False: the request is answered.
  bool Admit(const Route& route);
  // Its second step, for a route whose thread is named by the body. False: the request is answered.
  bool AdmitBodyThread(const Route& route);
  // The same without answering.
  std::optional<ErrorInfo> CheckBodyThread(const Route& route);
  // The same for a thread that is not named by the body.
  std::optional<ErrorInfo> CheckThread(const Route& route, const std::string& thread_id);
  bridge::Exchange& exchange() { return exchange_; }
  const bridge::RequestHead& head() const { return exchange_.head(); }
  state::Service& state() { return *api_.state; }         // routes of the checkpointer only
  memory::MemoryStore& memory() { return *api_.memory; }  // routes of the store only

  // The body: an object, empty for a route without one.
  const json& body() const { return *body_; }
  size_t body_bytes() const { return body_bytes_; }
  void SetBody(json body, size_t bytes);
  MessageLimits message_limits() const;

  // {thread_id} and {message_id} of the path. An unusable one becomes a problem.
  const std::string& ThreadId(Problems& problems);
  const std::string& MessageId(Problems& problems);

  // Exactly one of these ends a request that is not streamed.
  void Succeed(std::string data_json, std::string_view message = "OK");
  void Fail(const Status& status);
  void Fail(const ErrorInfo& error, const bridge::HeaderList& headers = {});
  // What a client is told of a failure; the log gets what is the service's fault.
  ErrorInfo Explain(const Status& status);

  // The head of an answer: `headers` and those every answer carries.
  bridge::ReplyHead MakeHead(int status, bridge::HeaderList headers) const;
  void Log(bridge::LogLevel level, const std::string& text);

 private:
  void Send(Reply reply, std::string outcome);
  auth::GuardRequest Ask(const Route& route) const;
  // False: over a limit that Redis counts, and `rate_refusal_` is the answer.
  bool CountShared(const std::string& user_id);

  bridge::Exchange& exchange_;
  const ApiContext& api_;
  Caller caller_;
  auth::Permission permission_;
  std::string guarded_thread_;        // the thread the guard was asked about
  bridge::HeaderList guard_headers_;  // of every answer to this request
  std::optional<Reply> rate_refusal_;
  std::unique_ptr<json> body_;
  size_t body_bytes_ = 0;
};

// How a request ended, for the access log: "ok", "rejected", "error", or why it was cancelled.
std::string OutcomeOf(const ErrorInfo& error, runtime::CancelReason reason);

}  // namespace agent_graph::api
