// POST /chat/completions: runs the agent and answers in the form of OpenAI's API.
#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "api/resources/accepted_run.h"
#include "api/resources/idempotency.h"
#include "api/resources/run_request.h"
#include "api/resources/run_streaming.h"
#include "base/sha256.h"
#include "facades/openai/chat_request.h"
#include "facades/openai/chat_view.h"
#include "facades/openai/chat_writer.h"
#include "facades/openai/followed_chat.h"
#include "facades/openai/handlers.h"
#include "facades/openai/interrupt.h"
#include "facades/openai/reply.h"
#include "graph/compiled_graph.h"
#include "message/codec.h"
#include "run/run_sink.h"

namespace agent_graph::openai {
namespace {

using api::HandlerContext;

// Writes the answer of a run that this request executes.
class ChatSink : public run::RunSink {
 public:
  ChatSink(HandlerContext& context, ChatView& view, ChatWriter& writer, bool stream,
           bool has_thread)
      : context_(context), view_(view), writer_(writer), stream_(stream), has_thread_(has_thread) {}

  Status OnStart(const run::RunStart& start) override {
    const std::string thread_id = has_thread_ ? start.thread_id : std::string();
    context_.exchange().Annotate(thread_id, start.run_id);
    writer_.Begin({start.run_id, thread_id, false});
    return Status::Ok();
  }
  Status OnDelta(const run::RunDelta& delta) override {
    return writer_.Show(view_.OnDelta(delta.message_id, delta.text, delta.reasoning));
  }
  Status OnEvent(const run::RunEvent& event) override {
    if (event.kind != run::RunEvent::Kind::kMessage) return Status::Ok();
    AG_ASSIGN_OR_RETURN(const Message message, message::FromJsonText(event.message_json));
    return writer_.Show(view_.OnMessage(message));
  }
  void OnHeld(uint64_t thread_bytes, uint64_t reply_bytes) override {
    context_.exchange().Hold(api::RunMemory(thread_bytes, reply_bytes));
  }
  Status AwaitMemory(uint64_t thread_bytes) override {
    return api::AwaitRunMemory(context_.exchange(), thread_bytes);
  }
  bool wants_deltas() const override { return stream_; }
  bool wants_states() const override { return false; }
  bool wants_final_state() const override { return false; }

 private:
  HandlerContext& context_;
  ChatView& view_;
  ChatWriter& writer_;
  const bool stream_;
  const bool has_thread_;
};

// The run does not need this connection: the response follows it.
void AnswerAccepted(HandlerContext& context, api::GraphRequest request, api::RunTerms terms,
                    ChatView& view, ChatWriter& writer) {
  const api::FollowerLimit::Place place = api::EnterFollowers(context);
  if (!place) return context.Fail(api::TooManyFollowers());
  api::AcceptedRun accepted;
  if (auto error = api::AcceptGraphRun(context, std::move(request), terms, accepted)) {
    return context.Fail(*error);
  }
  writer.Begin({accepted.run.run_id, accepted.run.thread_id, true});
  api::RunStreamRequest stream;
  stream.thread_id = accepted.run.thread_id;
  stream.run_id = accepted.run.run_id;
  api::RunFollower follower = api::MakeFollower(context, stream, context.exchange().cancellation());
  const Result<api::RunFollower::Place> found = follower.Open(std::nullopt);
  if (!found.ok()) return context.Fail(found.status());
  if (auto error = api::ErrorOfPlace(context, stream, *found)) return context.Fail(*error);
  FollowedChat chat(view, writer);
  chat.Finish(follower.Follow(chat));
}

void AnswerRun(HandlerContext& context, api::GraphRequest request, bool stream, ChatView& view,
               ChatWriter& writer) {
  ChatSink sink(context, view, writer, stream, !request.run.transient);
  Result<run::RunOutcome> outcome =
      api::RunGraph(context, std::move(request.run), context.exchange().cancellation(), sink);
  if (!outcome.ok()) return writer.Fail(outcome.status());
  if (outcome->status == run::RunStatus::kError) return writer.Fail(outcome->error);
  writer.Finish(view, {QuestionOf(outcome->interrupt_json)});
}

// Reads the terms of a request with an Idempotency-Key. The thread may be named by a header, so it
// is a part of what must be equal.
api::RunTerms ReadTerms(const HandlerContext& context, const std::string& thread_id,
                        api::Problems& problems) {
  api::RunTerms terms;
  terms.key = api::ReadRunKey(context, problems);
  terms.accepted = terms.key.has_value();
  if (terms.key) terms.key->body_hash = Sha256Hex(terms.key->body_hash + thread_id);
  return terms;
}

}  // namespace

void CompleteChat(HandlerContext& context) {
  if (auto error = FindUnsupported(context.body())) return context.Fail(*error);
  const std::string& name = context.api().graph->name();
  const std::string& model = context.body().at("model").get_ref<const std::string&>();
  if (model != name) return context.Fail(UnknownModel(model, name));
  api::Problems problems;
  ChatRequest request = ReadChatRequest(context, problems);
  api::RunTerms terms = ReadTerms(context, request.run.thread_id, problems);
  if (!problems.empty()) return context.Fail(std::move(problems).Error());
  if (!request.run.thread_id.empty()) {
    if (context.api().state == nullptr) {
      return context.Fail(
          api::ErrorInfo{api::ApiError::kNotConfigured, "checkpointer not configured", {}});
    }
    if (auto error = context.CheckThread(context.route(), request.run.thread_id)) {
      return context.Fail(*error);
    }
  }
  api::GraphRequest graph_request{.run = std::move(request.run)};
  if (auto error = api::ResolveFiles(context, graph_request)) return context.Fail(*error);
  ChatView view(context.api().settings->facades.openai.show_tools, *graph_request.run.client_tools);
  ChatWriter writer(context, request.stream, request.include_usage);
  if (terms.accepted) {
    return AnswerAccepted(context, std::move(graph_request), std::move(terms), view, writer);
  }
  graph_request.run.transient = graph_request.run.thread_id.empty();
  AnswerRun(context, std::move(graph_request), request.stream, view, writer);
}

}  // namespace agent_graph::openai
