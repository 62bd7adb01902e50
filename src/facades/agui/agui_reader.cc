#include "facades/agui/agui_reader.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "api/http/request_memory.h"
#include "api/resources/run_record.h"
#include "api/resources/run_streaming.h"
#include "base/clock.h"
#include "base/free_memory.h"
#include "base/json.h"
#include "base/json_array.h"
#include "base/own_json.h"
#include "bridge/exchange.h"
#include "facades/agui/errors.h"
#include "facades/agui/events.h"
#include "facades/agui/interrupts.h"
#include "facades/agui/thread_history.h"
#include "facades/run/flush_events.h"
#include "facades/run/run_end.h"
#include "state/service.h"

namespace agent_graph::agui {
namespace {

constexpr std::string_view kEventStream = "text/event-stream";
constexpr std::string_view kProtocolVersion = "1.0";

std::string ModelOf(const Message& message) {
  const Result<json> metadata = ParseJson(message.metadata_json, kOwnJsonLimits);
  if (!metadata.ok() || !metadata->is_object()) return "";
  const auto model = metadata->find("model");
  return model != metadata->end() && model->is_string() ? model->get<std::string>() : "";
}

void AddUsage(const Usage& more, Usage& sum) {
  sum.prompt_tokens += more.prompt_tokens;
  sum.completion_tokens += more.completion_tokens;
  sum.reasoning_tokens += more.reasoning_tokens;
  sum.cache_creation_input_tokens += more.cache_creation_input_tokens;
  sum.cache_read_input_tokens += more.cache_read_input_tokens;
}

void AppendCount(std::string& out, const char* name, int64_t count) {
  out += ",\"";
  out += name;
  out += "\":" + std::to_string(count);
}

std::string ArrayOf(const std::vector<std::string>& texts) {
  std::string out;
  AppendJsonArray(out, texts, AppendJsonString);
  return out;
}

}  // namespace

uint64_t AgUiClient::id_bytes() const {
  uint64_t bytes = (message_ids.size() + answered_calls.size()) * sizeof(std::string);
  for (const std::string& id : message_ids) bytes += id.size();
  for (const std::string& id : answered_calls) bytes += id.size();
  return bytes;
}

AgUiReader::AgUiReader(api::HandlerContext& context, AgUiClient client)
    : context_(context),
      client_(std::move(client)),
      held_(client_.follows ? &context.exchange() : nullptr),
      id_bytes_(client_.id_bytes()) {
  for (const std::string& call : client_.answered_calls) events_.SkipResultsOf(call);
}

Status AgUiReader::Flush() {
  return facades::FlushEvents(events_.out(), [this](std::string_view events) {
    return context_.exchange().Send(events, bridge::kSendWaitMax);
  });
}

void AgUiReader::Begin(const std::string& run_id) {
  begun_ = true;
  run_id_ = run_id;
  bridge::HeaderList headers = api::StreamHeaders(kEventStream);
  if (context_.api().state != nullptr) {
    headers.emplace_back("Location", api::RunStreamPath(context_, client_.thread_id, run_id_));
  }
  context_.exchange().SendHead(context_.MakeHead(200, std::move(headers)));
  Event event(events_.out(), "RUN_STARTED");
  event.At(UnixMicros()).Text("threadId", client_.thread_id).Text("runId", run_id_);
  if (client_.is_current) event.Text("protocolVersion", kProtocolVersion);
  if (!client_.parent_run_id.empty()) event.Text("parentRunId", client_.parent_run_id);
}

Status AgUiReader::OnStart(const run::RunStart& start, const state::RunRecord*) {
  if (client_.joins) {
    joined_micros_ = UnixMicros();
    // Read before the head is sent: a failure has a status of its own.
    AG_RETURN_IF_ERROR(AppendThread(""));
    const std::string rest = events_.Take();
    Begin(start.run_id);
    events_.out() += rest;
    return Flush();
  }
  Begin(client_.run_id);
  if (!client_.state.empty()) client_.state.AppendSnapshot(events_.out());
  CountState();
  events_.out() += client_.messages_event;
  FreeMemory(client_.messages_event);
  return Flush();
}

Result<state::ThreadState> AgUiReader::ReadThread() {
  return api::ReadThreadState(context_.exchange(), context_.state(), context_.caller().scope,
                              client_.thread_id);
}

Status AgUiReader::AppendThread(std::string_view void_message_id) {
  const uint64_t held_before = context_.exchange().held_bytes();
  AG_ASSIGN_OR_RETURN(state::ThreadState thread, ReadThread());
  const uint64_t last = thread.window.empty() ? 0 : thread.window.back().sequence;
  const bool has_messages = !thread.window.empty();
  FreeMemory(thread.window);  // may be large, and the history is read in pages
  MessageList messages;
  if (has_messages) {
    AG_ASSIGN_OR_RETURN(messages,
                        ReadHistory(context_, client_.thread_id, last, client_.is_current));
  }
  if (!void_message_id.empty()) messages.AppendBlankReasoning(void_message_id);
  events_.SkipMessages(messages.appended_ids());
  events_.SkipCalls(messages.calls());
  const bool had_state = !client_.state.empty();
  const Result<json> fields = ParseJson(thread.snapshot.fields_json, kOwnJsonLimits);
  client_.state.Set(fields.ok() ? *fields : json::object());
  if (had_state || !client_.state.empty()) client_.state.AppendSnapshot(events_.out());
  // The list of a long thread has its newest messages only. It would remove the others from a
  // client that has them, and at the end of a run the client has all.
  if (!messages.is_cut() || !begun_ || !void_message_id.empty()) {
    AppendMessagesSnapshot(events_.out(), messages, client_.message_ids);
    client_.message_ids = messages.ids();
    id_bytes_ = client_.id_bytes();
  }
  context_.exchange().Hold(held_before);
  CountState();
  return Status::Ok();
}

Status AgUiReader::OnNodeFinished(std::string_view node, int, const api::EventPlace&) {
  events_.FinishStep(node);
  return Flush();
}

Status AgUiReader::OnStateChanged(const state::StateEffect& effect, const api::EventPlace& place) {
  client_.state.Apply(effect);
  if (place.micros < joined_micros_) return Status::Ok();
  client_.state.AppendChange(events_.out());
  CountState();
  return Flush();
}

Status AgUiReader::OnState(const std::string& state_json, const api::EventPlace&) {
  AG_RETURN_IF_ERROR(client_.state.SetFromAgentState(state_json));
  client_.state.AppendChange(events_.out());
  return Flush();
}

Status AgUiReader::OnIdle() {
  if (!begun_) return Status::Ok();
  return context_.exchange().Send(kKeepAlive, bridge::kSendWaitMax);
}

Status AgUiReader::OnMessageStarted(const facades::MessageHead& head, const api::EventPlace&) {
  events_.EnterStep(head.node);
  return Status::Ok();
}

Status AgUiReader::OnText(const facades::MessageHead& head, std::string_view text,
                          const api::EventPlace&) {
  events_.Text(head.id, text);
  return Flush();
}

Status AgUiReader::OnReasoning(const facades::MessageHead& head, std::string_view text,
                               const api::EventPlace&) {
  events_.Reasoning(head.id, text);
  return Flush();
}

Status AgUiReader::OnToolCall(const facades::MessageHead& head, const ToolCallBlock& call,
                              const api::EventPlace&) {
  // A call of the client's tools was sent when the model made it.
  if (!call.remote) events_.Call(head.id, call);
  return Status::Ok();
}

Status AgUiReader::OnMessageFinished(const facades::MessageHead&, const Message& message,
                                     const api::EventPlace&) {
  events_.FinishMessage(message);
  if (message.usage) AddUsage(*message.usage, usage_[ModelOf(message)]);
  return Flush();
}

Status AgUiReader::OnToolResult(const facades::MessageHead& head, const ToolResultBlock& result,
                                const api::EventPlace&) {
  events_.EnterStep(head.node);
  events_.Result(head.id, result);
  return Flush();
}

// A client cannot take back a part of a message, but a snapshot without the message removes it.
Status AgUiReader::OnMessageVoid(const facades::MessageHead& head, uint32_t attempt) {
  if (!events_.Void(head.id)) return Status::Ok();
  std::string value = "{\"messageId\":";
  AppendJsonString(value, head.id);
  value += ",\"attempt\":" + std::to_string(attempt) + '}';
  Event(events_.out(), "CUSTOM").Text("name", "agent-graph:retrying").Json("value", value);
  AG_RETURN_IF_ERROR(AppendThread(head.id));
  return Flush();
}

Status AgUiReader::OnError(const api::RunError& error, const api::EventPlace&) {
  error_ = api::ErrorOf(error.status);
  return Status::Ok();
}

Status AgUiReader::OnEnd(const api::RunEnd& end, const api::EventPlace&) {
  const std::optional<api::ErrorInfo> failure = error_ ? error_ : facades::FailureOf(end);
  if (failure) {
    AppendError(*failure);
  } else if (end.outcome == run::RunStatus::kStopped && !client_.is_current) {
    AppendError({api::ApiError::kCancelled, "the run was stopped", {}});
  } else {
    events_.Close();
    if (client_.state_may_change && context_.api().state != nullptr) {
      const Result<state::ThreadState> thread = ReadThread();
      const Result<json> fields =
          ParseJson(thread.ok() ? thread->snapshot.fields_json : "{}", kOwnJsonLimits);
      if (thread.ok() && fields.ok()) client_.state.Set(*fields);
    }
    client_.state.AppendChange(events_.out());
    if (end.outcome == run::RunStatus::kInterrupted) {
      AG_RETURN_IF_ERROR(AppendInterrupted(end));
    } else {
      AppendFinished(end);
    }
  }
  End(error_ ? api::OutcomeOf(*error_, context_.exchange().cancellation().reason()) : "ok");
  return Status::Ok();
}

void AgUiReader::AppendFinished(const api::RunEnd& end) {
  Event event(events_.out(), "RUN_FINISHED");
  event.At(UnixMicros()).Text("threadId", client_.thread_id).Text("runId", run_id_);
  if (end.outcome == run::RunStatus::kStopped) {
    event.Json("outcome", R"({"type":"cancelled"})");
  } else if (client_.is_current && !events_.pending_calls().empty()) {
    event.Json("outcome", R"({"type":"success","pendingToolCallIds":)" +
                              ArrayOf(events_.pending_calls()) + '}');
  } else if (client_.is_current) {
    event.Json("outcome", R"({"type":"success"})");
  }
  if (!usage_.empty()) event.Json("usage", UsageJson());
}

// A run that only waits for the client's tools is complete; its calls are pending.
Status AgUiReader::AppendInterrupted(const api::RunEnd& end) {
  std::vector<OpenInterrupt> open;
  const bool waits_for_tools = facades::WaitsForTools(end.interrupt_json);
  if (context_.api().state != nullptr) {
    const Result<state::ThreadState> thread = ReadThread();
    // A client that is not shown the interrupts would go on as if there were none.
    if (!thread.ok() && !waits_for_tools) {
      AppendError(context_.Explain(thread.status()));
      return Status::Ok();
    }
    if (thread.ok()) open = InterruptsOf(*thread);
  }
  if (open.empty()) {
    if (context_.api().state == nullptr && !waits_for_tools) {
      AppendError({api::ApiError::kNotConfigured,
                   "the agent waits for an answer, and without a checkpointer no request can give "
                   "one",
                   {}});
      return Status::Ok();
    }
    AppendFinished(end);
    return Status::Ok();
  }
  AG_RETURN_IF_ERROR(AppendThread(""));
  json shown = json::array();
  for (OpenInterrupt& interrupt : open) shown.push_back(std::move(interrupt.shown));
  Event event(events_.out(), "RUN_FINISHED");
  event.At(UnixMicros()).Text("threadId", client_.thread_id).Text("runId", run_id_);
  event.Json("outcome", R"({"type":"interrupt","interrupts":)" + DumpJson(shown) + '}');
  if (!usage_.empty()) event.Json("usage", UsageJson());
  return Status::Ok();
}

void AgUiReader::AppendError(const api::ErrorInfo& error) {
  if (!error_) error_ = error;
  Event event(events_.out(), "RUN_ERROR");
  event.At(UnixMicros()).Text("message", api::MessageOf(error)).Text("code", api::CodeOf(error));
  if (!usage_.empty()) event.Json("usage", UsageJson());
}

std::string AgUiReader::UsageJson() const {
  std::string out = "[";
  for (const auto& [model, usage] : usage_) {
    out += out.size() > 1 ? ",{" : "{";
    if (!model.empty()) {
      out += "\"model\":";
      AppendJsonString(out, model);
      out += ',';
    }
    out += "\"inputTokens\":" + std::to_string(usage.prompt_tokens);
    AppendCount(out, "outputTokens", usage.completion_tokens);
    AppendCount(out, "totalTokens", usage.prompt_tokens + usage.completion_tokens);
    AppendCount(out, "reasoningTokens", usage.reasoning_tokens);
    AppendCount(out, "cachedInputTokens", usage.cache_read_input_tokens);
    AppendCount(out, "cacheWriteInputTokens", usage.cache_creation_input_tokens);
    out += '}';
  }
  return out + ']';
}

Status AgUiReader::ShowThread(const state::RunRecord* record) {
  client_.joins = true;
  run::RunStart start;
  start.run_id = record != nullptr ? record->run_id : client_.run_id;
  AG_RETURN_IF_ERROR(OnStart(start, record));
  api::RunEnd end;
  if (record != nullptr && record->state == state::RunState::kError) {
    error_ = {api::ApiError::kGone, "the run failed, and its log is no longer kept", {}};
  } else if (record != nullptr && record->state == state::RunState::kInterrupted) {
    end.outcome = run::RunStatus::kInterrupted;
  } else if (record != nullptr && record->state == state::RunState::kStopped) {
    end.outcome = run::RunStatus::kStopped;
  }
  return OnEnd(end, {});
}

void AgUiReader::Finish(const std::optional<api::ErrorInfo>& error) {
  if (ended_ || !error) return;
  if (!begun_) return context_.Fail(*error);
  AppendError(*error);
  End(api::OutcomeOf(*error, context_.exchange().cancellation().reason()));
}

void AgUiReader::Refuse(const api::ErrorInfo& error) {
  if (!begun_) Begin(client_.run_id);
  AppendError(error);
  End("rejected");
}

void AgUiReader::End(std::string outcome) {
  ended_ = true;
  context_.exchange().SendLast(events_.Take());
  context_.exchange().End(std::move(outcome));
}

}  // namespace agent_graph::agui
