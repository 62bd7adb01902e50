// POST /v1/graph/invoke: a run to its end, answered in one piece.
#include <nlohmann/json.hpp>

#include "api/handlers.h"
#include "api/run_request.h"
#include "base/json.h"

namespace agent_graph::api {
namespace {

class InvokeSink : public run::RunSink {
 public:
  explicit InvokeSink(bridge::Exchange& exchange) : exchange_(exchange) {}

  Status OnStart(const run::RunStart& start) override {
    exchange_.Annotate(start.thread_id, start.run_id);
    return Status::Ok();
  }
  Status OnEvent(const run::RunEvent&) override { return Status::Ok(); }
  bool wants_deltas() const override { return false; }
  bool wants_states() const override { return false; }

 private:
  bridge::Exchange& exchange_;
};

std::string MessageArray(const std::vector<std::string>& messages) {
  size_t bytes = 2;
  for (const std::string& message : messages) bytes += message.size() + 1;
  std::string out;
  out.reserve(bytes);
  out += '[';
  for (const std::string& message : messages) {
    if (out.size() > 1) out += ',';
    out += message;
  }
  out += ']';
  return out;
}

// low: messages and meta; partial: state and context, too; full: the summary as well.
std::string InvokeData(const run::RunOutcome& outcome, Granularity granularity) {
  std::string messages = MessageArray(outcome.messages_json);
  bool shows_state = granularity != Granularity::kLow;
  std::string out = "{\"messages\":";
  out += messages;
  out += ",\"state\":";
  out += shows_state ? std::string_view(outcome.state_json) : "null";
  out += ",\"context\":";
  out += shows_state ? messages : "null";
  out += ",\"summary\":";
  if (granularity == Granularity::kFull && outcome.summary) {
    AppendJsonString(out, *outcome.summary);
  } else {
    out += "null";
  }
  out += ",\"meta\":" + RunMetaJson(outcome.start) + "}";
  return out;
}

}  // namespace

void InvokeGraph(HandlerContext& context) {
  Problems problems;
  GraphRequest request = ReadGraphRequest(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  if (auto error = ResolveFiles(context, request)) return context.Fail(*error);
  context.SetBody(nlohmann::json::object(), 0);  // it was read, and a run may be long
  InvokeSink sink(context.exchange());
  Result<run::RunOutcome> outcome =
      RunGraph(context, request.run, context.exchange().cancellation(), sink);
  if (!outcome.ok()) return context.Fail(outcome.status());
  if (outcome->status == "error") return context.Fail(outcome->error);
  context.Succeed(InvokeData(*outcome, request.granularity));
}

}  // namespace agent_graph::api
