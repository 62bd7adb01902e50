#include "facades/mcp/call_reader.h"

#include "base/json.h"
#include "base/text.h"
#include "facades/mcp/endpoint_url.h"
#include "facades/mcp/json_rpc.h"
#include "facades/mcp/media_content.h"
#include "facades/run/run_end.h"
#include "message/codec.h"

namespace agent_graph::mcp {
namespace {

constexpr size_t kReportBytesMax = 200;
// The answer, with room to grow, and its JSON: as content, and as structured content.
constexpr uint64_t kCopies = 4;
constexpr std::string_view kWaiting =
    "The agent waits for an answer. Call this tool again with the thread_id and the answer as the "
    "message.";

void AppendText(std::string& out, std::string_view text, std::string_view more = {}) {
  if (out.back() != '[') out += ',';
  out += R"({"type":"text","text":)";
  AppendJsonString(out, text);
  out += more;
  out += '}';
}

}  // namespace

CallReader::CallReader(const api::HandlerContext& context, const Peer& peer, CallWriter& writer,
                       std::string progress_token_json, facades::HeldBytes held)
    : writer_(writer),
      progress_token_json_(std::move(progress_token_json)),
      files_url_(FilesUrl(context)),
      revision_(peer.revision),
      held_(held) {}

std::string FailedCall(std::string_view text) {
  std::string out = "\"content\":[";
  AppendText(out, text);
  return out + "],\"isError\":true";
}

Status CallReader::Report(const std::string& text) {
  if (progress_token_json_.empty()) return Status::Ok();
  std::string params = "{\"progressToken\":" + progress_token_json_;
  params += ",\"progress\":" + std::to_string(++reports_) + ",\"message\":";
  AppendJsonString(params, OneLine(text, kReportBytesMax));
  params += '}';
  return writer_.Send(NotificationMessage("notifications/progress", params));
}

Status CallReader::OnStart(const run::RunStart& start, const state::RunRecord*) {
  thread_id_ = start.thread_id;
  run_id_ = start.run_id;
  return Report("the agent has started");
}

Status CallReader::OnMessage(const api::MessageEvent& event, const api::EventPlace&) {
  AG_ASSIGN_OR_RETURN(const Message message, message::FromJsonText(event.json));
  for (const ToolResultBlock* result : message.ToolResults()) {
    AG_RETURN_IF_ERROR(Report(result->is_error ? "a tool has failed" : "a tool has answered"));
  }
  if (message.role != Role::kAssistant) return Status::Ok();
  const std::vector<const ToolCallBlock*> calls = message.ToolCalls();
  for (const ToolCallBlock* call : calls) AG_RETURN_IF_ERROR(Report("calls " + call->name));
  // The text of a message with calls announces them and is not a part of the answer.
  if (!calls.empty()) return Status::Ok();
  const std::string text = message.Text();
  if (!text.empty()) answer_ += (answer_.empty() ? "" : "\n\n") + text;
  for (const ContentBlock& block : message.content) {
    const auto* media = std::get_if<MediaBlock>(&block);
    if (media == nullptr) continue;
    answer_bytes_ += media->media.data_base64.size() + media->media.url.size();
    media_.push_back(*media);
  }
  answer_bytes_ += text.size();
  held_.Set(kCopies * answer_bytes_);
  return Status::Ok();
}

Status CallReader::OnError(const api::RunError& error, const api::EventPlace&) {
  error_ = error.status.message();
  return Status::Ok();
}

Status CallReader::OnEnd(const api::RunEnd& end, const api::EventPlace&) {
  outcome_ = end.outcome;
  interrupt_json_ = end.interrupt_json;
  if (const std::optional<api::ErrorInfo> failure = facades::FailureOf(end)) {
    outcome_ = run::RunStatus::kError;
    if (error_.empty()) error_ = failure->message;
  }
  return Status::Ok();
}

std::string CallReader::ResultMembers(bool shows_thread) const {
  if (outcome_ == run::RunStatus::kError) return FailedCall(error_);
  if (outcome_ == run::RunStatus::kStopped) return FailedCall("the run was stopped");
  const bool waits = outcome_ == run::RunStatus::kInterrupted;
  std::string place;  // how the conversation goes on
  if (shows_thread) {
    place += "\"thread_id\":";
    AppendJsonString(place, thread_id_);
    place += ",\"run_id\":";
    AppendJsonString(place, run_id_);
    place += ',';
  }
  place += waits ? R"("status":"interrupted")" : R"("status":"done")";
  if (waits && !interrupt_json_.empty()) place += ",\"interrupt\":" + interrupt_json_;
  std::string out = "\"content\":[";
  if (!answer_.empty() || (!waits && media_.empty())) AppendText(out, answer_);
  AppendMedia(out, media_, files_url_, revision_);
  if (waits) AppendText(out, kWaiting);
  if (shows_thread) {
    AppendText(out, '{' + place + '}', R"(,"annotations":{"audience":["assistant"]})");
  }
  out += "],\"structuredContent\":{\"answer\":";
  AppendJsonString(out, answer_);
  out += ',' + place + '}';
  return out;
}

}  // namespace agent_graph::mcp
