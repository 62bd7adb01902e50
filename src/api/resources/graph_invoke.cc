// POST /v1/graph/invoke: runs the graph to its end and returns one response.

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "api/resources/handlers.h"
#include "api/resources/run_request.h"
#include "api/resources/waiting_thread.h"
#include "base/json.h"

namespace agent_graph::api {
namespace {

class InvokeSink : public run::RunSink {
 public:
  InvokeSink(bridge::Exchange& exchange, Granularity granularity)
      : exchange_(exchange), granularity_(granularity) {}

  Status OnStart(const run::RunStart& start) override {
    exchange_.Annotate(start.thread_id, start.run_id);
    return Status::Ok();
  }
  Status OnEvent(const run::RunEvent&) override { return Status::Ok(); }
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    exchange_.Hold(RunMemory(thread_bytes, reply_bytes));
  }
  Status AwaitMemory(uint64_t thread_bytes) override {
    return AwaitRunMemory(exchange_, thread_bytes);
  }
  bool wants_deltas() const override { return false; }
  bool wants_states() const override { return false; }
  bool wants_final_state() const override { return granularity_ != Granularity::kLow; }

 private:
  bridge::Exchange& exchange_;
  const Granularity granularity_;
};

void AppendArray(std::string& out, const std::vector<std::string>& messages) {
  out += '[';
  for (size_t i = 0; i < messages.size(); ++i) {
    if (i > 0) out += ',';
    out += messages[i];
  }
  out += ']';
}

// low: messages and meta; partial: state and context, too; full: the summary as well.
std::string InvokeData(run::RunOutcome outcome, Granularity granularity) {
  const bool shows_state = granularity != Granularity::kLow;
  size_t bytes = 1024 + outcome.state_json.size();
  for (const std::string& message : outcome.messages_json) {
    bytes += (shows_state ? 2 : 1) * (message.size() + 1);
  }
  std::string out;
  out.reserve(bytes);  // it may be large
  out += "{\"messages\":";
  AppendArray(out, outcome.messages_json);
  out += ",\"state\":";
  out += shows_state ? std::string_view(outcome.state_json) : "null";
  out += ",\"context\":";
  if (shows_state) {
    AppendArray(out, outcome.messages_json);
  } else {
    out += "null";
  }
  out += ",\"summary\":";
  if (granularity == Granularity::kFull && outcome.summary) {
    AppendJsonString(out, *outcome.summary);
  } else {
    out += "null";
  }
  out += ",\"meta\":" + RunMetaJson(outcome) + "}";
  return out;
}

}  // namespace

void InvokeGraph(HandlerContext& context) {
  Problems problems;
  GraphRequest request = ReadGraphRequest(context, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  FindThreadOfResults(context, request.run);
  if (auto error = ResolveFiles(context, request)) return context.Fail(*error);
  InvokeSink sink(context.exchange(), request.granularity);
  Result<run::RunOutcome> outcome =
      RunGraph(context, std::move(request.run), context.exchange().cancellation(), sink);
  if (!outcome.ok()) return context.Fail(outcome.status());
  if (outcome->status == run::RunStatus::kError) return context.Fail(outcome->error);
  context.Succeed(InvokeData(*std::move(outcome), request.granularity));
}

}  // namespace agent_graph::api
