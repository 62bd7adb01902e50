#include "facades/openai/response_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "agent_graph/json.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own_json.h"
#include "base/text.h"
#include "facades/openai/object_ids.h"
#include "facades/openai/request_note.h"
#include "facades/openai/response_items.h"
#include "facades/run/body_members.h"
#include "facades/run/json_member.h"
#include "facades/run/run_end.h"
#include "facades/run/signed_reasoning.h"
#include "message/broken_arguments.h"

namespace agent_graph::openai {
namespace {

using api::EventPlace;
using facades::AppendMember;
using facades::MessageHead;

constexpr size_t kShownToolBytesMax = 1000;
// The text of an item, its JSON, and its part of the last event.
constexpr size_t kCopies = 4;
constexpr uint64_t kHeldStep = 64 * 1024;
constexpr int64_t kCountedOnly = std::numeric_limits<int64_t>::max();
constexpr std::string_view kTextPart = ",\"content_index\":0";
constexpr std::string_view kSummaryPart = ",\"summary_index\":0";
constexpr std::string_view kNoPart;
constexpr std::string_view kNoLogprobs = ",\"logprobs\":[]";
constexpr std::string_view kCompleted = "completed";
constexpr std::string_view kIncomplete = "incomplete";

bool HasEntry(const json& object, const char* name, std::string_view text) {
  const auto found = object.find(name);
  return found != object.end() && found->is_array() &&
         std::ranges::find(*found, json(text)) != found->end();
}

}  // namespace

ResponseReader::ResponseReader(ResponseReaderOptions options)
    : options_(std::move(options)),
      wants_encrypted_(options_.with_encrypted_content),
      events_(options_.send ? options_.after : kCountedOnly) {
  response_.model = options_.model;
}

// --- the run ---------------------------------------------------------------------------------

Status ResponseReader::OnStart(const run::RunStart& start, const state::RunRecord* record) {
  thread_id_ = start.thread_id;
  response_.id = ResponseId({start.thread_id, start.run_id});
  response_.created_at = record != nullptr ? record->created_micros / kMicrosPerSecond
                                           : UnixMicros() / kMicrosPerSecond;
  is_background_ = record != nullptr && record->accepted;
  if (is_background_) response_.status = "queued";
  if (options_.on_start) options_.on_start(response_);
  if (options_.note_json.empty()) return Status::Ok();
  return OnNote(options_.note_json, {});
}

Status ResponseReader::OnNote(std::string_view note_json, const EventPlace& place) {
  if (response_.note_json.empty()) response_.note_json = note_json;
  Announce();
  // The note of the request is known before the run begins, the one of the log when it does.
  const bool has_begun = !is_background_ || place.micros != 0;
  if (has_begun) Begin();
  return Flush();
}

// Sends the events before the run begins.
void ResponseReader::Announce() {
  if (std::exchange(announced_, true)) return;
  const Result<json> note = ParseJson(
      response_.note_json.empty() ? UnknownRequestNote() : response_.note_json, kOwnJsonLimits);
  if (note.ok() && note->is_object()) {
    is_background_ = facades::IsTrue(*note, "background");
    wants_encrypted_ |= HasEntry(*note, "include", kEncryptedContent);
    ReadToolNames(*note);
  }
  response_.status = is_background_ ? "queued" : "in_progress";
  AddObjectEvent("response.created");
  if (is_background_) AddObjectEvent("response.queued");
}

void ResponseReader::ReadToolNames(const json& note) {
  const auto tools = note.find("tools");
  if (tools == note.end() || !tools->is_array()) return;
  for (const json& tool : *tools) {
    const std::string_view name = facades::TextOf(tool, "name");
    if (facades::TextOf(tool, "type") == "function") tool_names_.emplace(name);
  }
}

void ResponseReader::Begin() {
  Announce();
  if (std::exchange(begun_, true)) return;
  response_.status = "in_progress";
  AddObjectEvent("response.in_progress");
}

Status ResponseReader::OnError(const api::RunError& error, const EventPlace&) {
  error_ = api::ErrorOf(error.status);
  return Status::Ok();
}

Status ResponseReader::OnEnd(const api::RunEnd& end, const EventPlace& place) {
  const std::optional<api::ErrorInfo> failure = facades::FailureOf(end);
  const bool failed = failure.has_value();
  const bool stopped = !failed && end.outcome == run::RunStatus::kStopped;
  if (failed && !error_) error_ = failure;
  if (!stopped || begun_) Begin();
  CloseAll(kIncomplete);
  // An agent without a tool node leaves the calls of the client's tools to the end of the run.
  if (!failed && !stopped && end.interrupt_json.empty()) {
    for (const WaitingCall& waiting : waiting_) SendCall(waiting.head, waiting.call);
  }
  response_.usage = usage();
  if (!facades::WaitsForTools(end.interrupt_json)) response_.interrupt_json = end.interrupt_json;
  if (stopped) {
    response_.status = "cancelled";
  } else if (failed) {
    response_.status = "failed";
    response_.error_json = ResponseErrorJson(*error_);
  } else if (stop_reason() == "length" || stop_reason() == "content_filter") {
    response_.status = kIncomplete;
    response_.incomplete_reason = stop_reason() == "length" ? "max_output_tokens" : stop_reason();
  } else {
    response_.status = kCompleted;
    response_.completed_at = place.micros / kMicrosPerSecond;
  }
  ended_ = true;
  // The protocol has no event for a cancelled response.
  if (!stopped) AddObjectEvent("response." + std::string(response_.status));
  return Flush();
}

std::string ResponseReader::ErrorEvent(const api::ErrorInfo& error) {
  std::string members;
  AppendMember(members, "code", api::CodeOf(error));
  AppendMember(members, "message", api::MessageOf(error));
  events_.Add("error", members + ",\"param\":null");
  return events_.Take();
}

Status ResponseReader::OnIdle() {
  return options_.send_comment ? options_.send_comment() : Status::Ok();
}

// --- messages --------------------------------------------------------------------------------

ResponseReader::OpenMessage& ResponseReader::MessageOf(const std::string& message_id) {
  const auto found = std::ranges::find(open_, message_id, &OpenMessage::message_id);
  if (found != open_.end()) return *found;
  open_.push_back({.message_id = message_id});
  return open_.back();
}

Status ResponseReader::OnMessageStarted(const MessageHead&, const EventPlace&) {
  Begin();
  return Status::Ok();
}

Status ResponseReader::OnText(const MessageHead& head, std::string_view text, const EventPlace&) {
  AddText(MessageOf(head.id), text);
  return Flush();
}

Status ResponseReader::OnReasoning(const MessageHead& head, std::string_view text,
                                   const EventPlace&) {
  AddReasoning(MessageOf(head.id), text);
  return Flush();
}

Status ResponseReader::OnToolCall(const MessageHead& head, const ToolCallBlock& call,
                                  const EventPlace&) {
  if (call.remote) {
    Begin();
    RemoveWaiting(call.id);
    SendCall(head, call);
  } else if (tool_names_.contains(call.name)) {
    waiting_.push_back({head, call});
  } else {
    ShowTool(MessageOf(head.id), call.name + " " + call.arguments_json);
  }
  return Flush();
}

Status ResponseReader::OnMessageFinished(const MessageHead& head, const Message& answer,
                                         const EventPlace&) {
  OpenMessage& message = MessageOf(head.id);
  const size_t shown = message.reasoning ? message.reasoning->text.size() : 0;
  const std::string signature = wants_encrypted_ ? facades::SignatureOf(answer, shown) : "";
  if (!signature.empty() && !message.reasoning && message.reasoning_items == 0) {
    OpenReasoning(message);
  }
  CloseReasoning(message, kCompleted, signature);
  CloseText(message, kCompleted);
  std::erase_if(open_, [&](const OpenMessage& one) { return one.message_id == head.id; });
  return Flush();
}

Status ResponseReader::OnToolResult(const MessageHead& head, const ToolResultBlock& result,
                                    const EventPlace&) {
  Begin();
  RemoveWaiting(result.call_id);
  if (options_.show_tools == ResponseReaderOptions::ShowTools::kHidden) return Flush();
  OpenMessage message{.message_id = head.id};
  ShowTool(message, "-> " + result.output_json);
  CloseReasoning(message, kCompleted);
  CloseText(message, kCompleted);
  return Flush();
}

void ResponseReader::RemoveWaiting(const std::string& call_id) {
  std::erase_if(waiting_, [&](const WaitingCall& waiting) { return waiting.call.id == call_id; });
}

Status ResponseReader::OnMessageVoid(const MessageHead& head, uint32_t) {
  OpenMessage& message = MessageOf(head.id);
  CloseReasoning(message, kIncomplete, {}, true);
  CloseText(message, kIncomplete, true);
  std::erase_if(open_, [&](const OpenMessage& one) { return one.message_id == head.id; });
  return Flush();
}

void ResponseReader::ShowTool(OpenMessage& message, const std::string& line) {
  using ShowTools = ResponseReaderOptions::ShowTools;
  if (options_.show_tools == ShowTools::kHidden) return;
  const std::string shown = '\n' + OneLine(line, kShownToolBytesMax) + '\n';
  options_.show_tools == ShowTools::kContent ? AddText(message, shown)
                                             : AddReasoning(message, shown);
}

// --- items -----------------------------------------------------------------------------------

std::string ResponseReader::NewItemId(ItemKind kind, const std::string& message_id,
                                      size_t earlier) const {
  return ItemId(
      {kind, thread_id_, message_id, earlier == 0 ? std::string() : std::to_string(earlier)});
}

ResponseReader::OpenItem ResponseReader::NewItem(std::string id, std::string_view part) const {
  OpenItem item;
  item.id = std::move(id);
  item.index = response_.output.size();
  AppendMember(item.place, "item_id", item.id);
  item.place += ",\"output_index\":" + std::to_string(item.index);
  item.place += part;
  return item;
}

void ResponseReader::OpenText(OpenMessage& message) {
  if (!wants_encrypted_) CloseReasoning(message, kCompleted);
  std::string id = NewItemId(ItemKind::kMessage, message.message_id, message.text_items++);
  const OpenItem& item = message.text.emplace(NewItem(std::move(id), kTextPart));
  response_.output.emplace_back();
  AddItemEvent("response.output_item.added", item.index, MessageItem(item.id, "in_progress", ""));
  AddPartEvent("response.content_part.added", item, ",\"part\":" + TextPart(""));
}

void ResponseReader::AddText(OpenMessage& message, std::string_view text) {
  if (!message.text) OpenText(message);
  message.text->text += text;
  CountHeld(text.size());
  events_.AddDelta("response.output_text.delta", message.text->place, text, kNoLogprobs);
}

void ResponseReader::OpenReasoning(OpenMessage& message) {
  std::string id = NewItemId(ItemKind::kReasoning, message.message_id, message.reasoning_items++);
  const OpenItem& item = message.reasoning.emplace(NewItem(std::move(id), kSummaryPart));
  response_.output.emplace_back();
  AddItemEvent("response.output_item.added", item.index,
               ReasoningItem(item.id, "in_progress", "", ""));
}

void ResponseReader::AddReasoning(OpenMessage& message, std::string_view text) {
  if (!message.reasoning) OpenReasoning(message);
  OpenItem& item = *message.reasoning;
  if (item.text.empty()) {
    AddPartEvent("response.reasoning_summary_part.added", item, ",\"part\":" + SummaryPart(""));
  }
  item.text += text;
  CountHeld(text.size());
  events_.AddDelta("response.reasoning_summary_text.delta", item.place, text, "");
}

void ResponseReader::CloseText(OpenMessage& message, std::string_view status, bool is_void) {
  if (!message.text) return;
  const OpenItem item = *std::exchange(message.text, std::nullopt);
  std::string members;
  AppendMember(members, "text", item.text);
  members += kNoLogprobs;
  AddPartEvent("response.output_text.done", item, members);
  AddPartEvent("response.content_part.done", item, ",\"part\":" + TextPart(item.text));
  std::string done = MessageItem(item.id, status, TextPart(item.text));
  AddItemEvent("response.output_item.done", item.index, done);
  if (!is_void) response_.output[item.index] = std::move(done);
}

void ResponseReader::CloseReasoning(OpenMessage& message, std::string_view status,
                                    std::string_view encrypted, bool is_void) {
  if (!message.reasoning) return;
  const OpenItem item = *std::exchange(message.reasoning, std::nullopt);
  std::string parts;
  if (!item.text.empty()) {
    parts = SummaryPart(item.text);
    std::string members;
    AppendMember(members, "text", item.text);
    AddPartEvent("response.reasoning_summary_text.done", item, members);
    AddPartEvent("response.reasoning_summary_part.done", item, ",\"part\":" + parts);
  }
  std::string done = ReasoningItem(item.id, status, parts, encrypted);
  AddItemEvent("response.output_item.done", item.index, done);
  if (!is_void) response_.output[item.index] = std::move(done);
}

void ResponseReader::CloseAll(std::string_view status) {
  for (OpenMessage& message : open_) {
    CloseReasoning(message, status);
    CloseText(message, status);
  }
  open_.clear();
}

// A call comes as a whole.
void ResponseReader::SendCall(const MessageHead& head, const ToolCallBlock& call) {
  const std::string written = message::WrittenArguments(call.arguments_json);
  CountHeld(written.size());
  const OpenItem item = NewItem(ItemId({ItemKind::kCall, thread_id_, head.id, call.id}), kNoPart);
  AddItemEvent("response.output_item.added", item.index,
               CallItem(item.id, "in_progress", call, ""));
  events_.AddDelta("response.function_call_arguments.delta", item.place, written, "");
  std::string arguments;
  AppendMember(arguments, "name", call.name);
  AppendMember(arguments, "arguments", written);
  AddPartEvent("response.function_call_arguments.done", item, arguments);
  response_.output.push_back(CallItem(item.id, kCompleted, call, written));
  AddItemEvent("response.output_item.done", item.index, response_.output.back());
}

// --- events ----------------------------------------------------------------------------------

// An event with the response as it is now.
void ResponseReader::AddObjectEvent(std::string_view type) {
  // The response is not encoded for an event that is not sent: an answer that is one object has no
  // events, and a client that resumes a stream skips the first ones.
  events_.Add(type, events_.WritesNext() ? ",\"response\":" + ToJson(response_) : std::string());
}

void ResponseReader::AddItemEvent(std::string_view type, size_t index, std::string_view item) {
  std::string members = ",\"output_index\":" + std::to_string(index) + ",\"item\":";
  members += item;
  events_.Add(type, members);
}

void ResponseReader::AddPartEvent(std::string_view type, const OpenItem& item,
                                  std::string_view members) {
  events_.Add(type, item.place + std::string(members));
}

void ResponseReader::CountHeld(size_t more) {
  held_ += more * kCopies;
  if (!options_.hold || held_ < counted_ + kHeldStep) return;
  counted_ = held_;
  options_.hold(held_);
}

Status ResponseReader::Flush() {
  return events_.Flush(options_.send);
}

}  // namespace agent_graph::openai
