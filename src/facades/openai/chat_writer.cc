#include "facades/openai/chat_writer.h"

#include <utility>

#include "api/resources/run_streaming.h"
#include "base/clock.h"
#include "base/json.h"
#include "bridge/exchange.h"
#include "facades/openai/errors.h"
#include "facades/openai/reply.h"
#include "facades/run/flush_events.h"
#include "graph/compiled_graph.h"
#include "message/broken_arguments.h"

namespace agent_graph::openai {
namespace {

constexpr std::string_view kEventStream = "text/event-stream";
constexpr std::string_view kDone = "data: [DONE]\n\n";
constexpr std::string_view kDelta = R"(,"choices":[{"index":0,"delta":)";
constexpr std::string_view kEventEnd = "}\n\n";
constexpr std::string_view kComment = ": keep-alive\n\n";
// The collected text, with room to grow, and its JSON.
constexpr uint64_t kCollectedCopies = 3;

void AppendUsage(std::string& out, const Usage& usage) {
  const int64_t total =
      usage.total_tokens != 0 ? usage.total_tokens : usage.prompt_tokens + usage.completion_tokens;
  out += R"("usage":{"prompt_tokens":)" + std::to_string(usage.prompt_tokens);
  out += R"(,"completion_tokens":)" + std::to_string(usage.completion_tokens);
  out += R"(,"total_tokens":)" + std::to_string(total);
  out += R"(,"prompt_tokens_details":{"cached_tokens":)" +
         std::to_string(usage.cache_read_input_tokens);
  out += R"(},"completion_tokens_details":{"reasoning_tokens":)" +
         std::to_string(usage.reasoning_tokens) + "}}";
}

// `index`: position among the calls, in deltas only.
void AppendCall(std::string& out, const ToolCallBlock& call, std::optional<size_t> index) {
  out += '{';
  if (index) out += "\"index\":" + std::to_string(*index) + ',';
  out += "\"id\":";
  AppendJsonString(out, call.id);
  out += R"(,"type":"function","function":{"name":)";
  AppendJsonString(out, call.name);
  out += R"(,"arguments":)";
  AppendJsonString(out, message::WrittenArguments(call.arguments_json));
  out += "}}";
}

// The end of the list of choices behind a delta.
void AppendChoiceEnd(std::string& out, std::string_view finish_reason) {
  out += ",\"finish_reason\":";
  if (finish_reason.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, finish_reason);
  }
  out += "}]";
}

// Extension: why the run waits, as native responses have it.
std::string InterruptMember(const ChatEnd& end) {
  return end.interrupt_json.empty() ? std::string() : ",\"interrupt\":" + end.interrupt_json;
}

}  // namespace

ChatWriter::ChatWriter(api::HandlerContext& context, bool stream, bool include_usage, bool counts)
    : context_(context),
      stream_(stream),
      include_usage_(include_usage),
      held_(counts ? &context.exchange() : nullptr) {}

void ChatWriter::Begin(const AnsweredRun& run) {
  id_ = "chatcmpl-" + run.run_id;
  thread_id_ = run.thread_id;
  repeatable_ = run.repeatable;
  created_ = static_cast<int64_t>(UnixSeconds());
}

void ChatWriter::AppendIdentity(std::string& out, std::string_view object) const {
  out += "{\"id\":";
  AppendJsonString(out, id_);
  out += ",\"object\":\"";
  out += object;
  out += "\",\"created\":" + std::to_string(created_) + ",\"model\":";
  AppendJsonString(out, context_.api().graph->name());
}

void ChatWriter::AppendChunk(std::string_view delta, std::string_view finish_reason,
                             std::string_view more) {
  events_ += event_head_;
  events_ += kDelta;
  events_ += delta;
  AppendChoiceEnd(events_, finish_reason);
  events_ += more;
  events_ += kEventEnd;
}

void ChatWriter::AppendPiece(const Piece& piece) {
  events_ += event_head_;
  events_ += kDelta;
  events_ += '{';
  if (!piece.reasoning.empty()) {
    events_ += "\"reasoning_content\":";
    AppendJsonString(events_, piece.reasoning);
  }
  if (!piece.content.empty()) {
    events_ += piece.reasoning.empty() ? "\"content\":" : ",\"content\":";
    AppendJsonString(events_, piece.content);
  }
  events_ += '}';
  AppendChoiceEnd(events_, "");
  events_ += kEventEnd;
}

bridge::HeaderList ChatWriter::Headers() const {
  bridge::HeaderList headers;
  if (!thread_id_.empty()) headers.emplace_back("X-Thread-Id", thread_id_);
  return headers;
}

void ChatWriter::BeginStream() {
  if (std::exchange(head_sent_, true)) return;
  event_head_ = "data: ";
  AppendIdentity(event_head_, "chat.completion.chunk");
  bridge::HeaderList headers = api::StreamHeaders(kEventStream);
  for (auto& header : Headers()) headers.push_back(std::move(header));
  context_.exchange().SendHead(context_.MakeHead(200, std::move(headers)));
  AppendChunk(R"({"role":"assistant","content":""})", "");
}

Status ChatWriter::Show(const Piece& piece) {
  if (piece.empty()) return Status::Ok();
  if (!stream_) {
    collected_.content += piece.content;
    collected_.reasoning += piece.reasoning;
    held_.Set(kCollectedCopies * (collected_.content.size() + collected_.reasoning.size()));
    return Status::Ok();
  }
  BeginStream();
  AppendPiece(piece);
  return facades::FlushEvents(events_, [this](std::string_view events) {
    return context_.exchange().Send(events, bridge::kSendWaitMax);
  });
}

Status ChatWriter::SendComment() {
  if (!stream_ || !begun()) return Status::Ok();
  BeginStream();
  events_ += kComment;
  return facades::FlushEvents(events_, [this](std::string_view events) {
    return context_.exchange().Send(events, bridge::kSendWaitMax);
  });
}

void ChatWriter::Finish(const ChatView& view, const ChatEnd& end) {
  stream_ ? FinishStream(view, end) : FinishObject(view, end);
}

void ChatWriter::FinishStream(const ChatView& view, const ChatEnd& end) {
  BeginStream();
  for (size_t i = 0; i < view.open_calls().size(); ++i) {
    std::string delta = "{\"tool_calls\":[";
    AppendCall(delta, view.open_calls()[i], i);
    AppendChunk(delta + "]}", "");
  }
  AppendChunk("{}", view.finish_reason(), InterruptMember(end));
  if (include_usage_) {
    events_ += event_head_;
    events_ += ",\"choices\":[],";
    AppendUsage(events_, view.usage());
    events_ += kEventEnd;
  }
  events_ += kDone;
  context_.exchange().SendLast(events_);
  context_.exchange().End("ok");
}

void ChatWriter::FinishObject(const ChatView& view, const ChatEnd& end) {
  std::string out;
  out.reserve(collected_.content.size() + collected_.reasoning.size() + 1024);
  AppendIdentity(out, "chat.completion");
  out += R"(,"choices":[{"index":0,"message":{"role":"assistant","content":)";
  const std::vector<ToolCallBlock>& calls = view.open_calls();
  if (collected_.content.empty() && !calls.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, collected_.content);
  }
  out += ",\"refusal\":null";
  if (!collected_.reasoning.empty()) {
    out += ",\"reasoning_content\":";
    AppendJsonString(out, collected_.reasoning);
  }
  if (!calls.empty()) {
    out += ",\"tool_calls\":";
    for (size_t i = 0; i < calls.size(); ++i) {
      out += i == 0 ? '[' : ',';
      AppendCall(out, calls[i], std::nullopt);
    }
    out += ']';
  }
  out += "},\"logprobs\":null,\"finish_reason\":";
  AppendJsonString(out, view.finish_reason());
  out += "}],";
  AppendUsage(out, view.usage());
  out += InterruptMember(end);
  out += '}';
  SendJson(context_, std::move(out), Headers());
}

void ChatWriter::Fail(const Status& status) {
  Fail(context_.Explain(status));
}

void ChatWriter::Fail(const api::ErrorInfo& error) {
  if (!head_sent_) {
    // Client libraries repeat failed requests by themselves. The header stops them, because the
    // effects of a run would happen twice.
    bridge::HeaderList headers;
    const bool begins_again = begun() && !repeatable_;
    if (begins_again && !IsPermanent(error)) headers.emplace_back("x-should-retry", "false");
    return context_.Fail(error, headers);
  }
  context_.exchange().SendLast("data: " + ErrorJson(error) + "\n\n");
  context_.exchange().End(api::OutcomeOf(error, context_.exchange().cancellation().reason()));
}

}  // namespace agent_graph::openai
