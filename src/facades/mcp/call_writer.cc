#include "facades/mcp/call_writer.h"

#include <utility>
#include <vector>

#include "api/resources/run_streaming.h"
#include "bridge/exchange.h"
#include "facades/mcp/errors.h"

namespace agent_graph::mcp {
namespace {

constexpr std::string_view kEventStream = "text/event-stream";
constexpr std::string_view kComment = ": keep-alive\n\n";
// Time after which a client comes back to a stream that has broken, in milliseconds.
constexpr std::string_view kRetry = "retry: 1000\n";

}  // namespace

void CallWriter::NumberEvents(EventId event_id, uint64_t skipped) {
  event_id_ = std::move(event_id);
  count_ = 0;
  skipped_ = skipped;
}

void CallWriter::SendHead() {
  if (std::exchange(head_sent_, true)) return;
  context_.exchange().SendHead(context_.MakeHead(200, api::StreamHeaders(kEventStream)));
}

Result<std::string> CallWriter::Framed(std::string_view message_json) {
  std::string event;
  event.reserve(message_json.size() + 320);
  if (event_id_) {
    AG_ASSIGN_OR_RETURN(const std::string id, event_id_(count_));
    event += "id: " + id + '\n';
    id_sent_ = true;
  }
  event += message_json.empty() ? kRetry : "event: message\n";
  event += "data: ";
  event += message_json;
  event += "\n\n";
  return event;
}

Status CallWriter::SendFirst() {
  AG_ASSIGN_OR_RETURN(const std::string event, Framed(""));
  SendHead();
  return context_.exchange().Send(event, bridge::kSendWaitMax);
}

Status CallWriter::Send(std::string_view message_json) {
  if (!stream_) return Status::Ok();
  if (++count_ <= skipped_) return Status::Ok();
  AG_ASSIGN_OR_RETURN(const std::string event, Framed(message_json));
  SendHead();
  return context_.exchange().Send(event, bridge::kSendWaitMax);
}

Status CallWriter::SendComment() {
  if (!stream_) return Status::Ok();
  SendHead();
  return context_.exchange().Send(kComment, bridge::kSendWaitMax);
}

void CallWriter::SendLast(std::string_view message_json, const std::string& outcome) {
  SendHead();
  // A client that already has the response may have resumed its stream all the same.
  if (++count_ <= skipped_) return context_.exchange().End(outcome);
  const Result<std::string> event = Framed(message_json);
  if (event.ok()) context_.exchange().SendLast(*event);
  context_.exchange().End(event.ok() ? outcome : "error");
}

void CallWriter::Finish(std::string_view result_json) {
  std::string message = ResultMessage(id_json_, result_json);
  if (stream_) return SendLast(message, "ok");
  std::vector<std::string> body;
  body.push_back(std::move(message));
  context_.exchange().Reply(context_.MakeHead(200, {{"Content-Type", "application/json"}}),
                            std::move(body), "ok");
}

void CallWriter::Fail(const api::ErrorInfo& error) {
  if (!head_sent_) return SendFailure(context_, id_json_, error);
  SendLast(ErrorMessage(id_json_, RpcErrorOf(error)),
           api::OutcomeOf(error, context_.exchange().cancellation().reason()));
}

void CallWriter::Leave() {
  if (stream_) {
    SendHead();
    return context_.exchange().End("ok");
  }
  context_.exchange().Reply(context_.MakeHead(204, {}), {}, "ok");
}

}  // namespace agent_graph::mcp
