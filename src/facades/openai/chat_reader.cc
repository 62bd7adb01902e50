#include "facades/openai/chat_reader.h"

#include "api/http/errors.h"
#include "facades/run/run_end.h"
#include "message/codec.h"

namespace agent_graph::openai {

Status ChatReader::OnStart(const run::RunStart& start, const state::RunRecord*) {
  writer_.Begin({start.run_id, start.thread_id, repeatable_});
  return Status::Ok();
}

Status ChatReader::OnDelta(const run::RunDelta& delta, const api::EventPlace&, bool) {
  // An answer that is one object is made of whole messages: what another attempt voids is not
  // shown.
  if (!writer_.streams()) return Status::Ok();
  return writer_.Show(view_.OnDelta(delta.message_id, delta.text, delta.reasoning));
}

Status ChatReader::OnMessage(const api::MessageEvent& event, const api::EventPlace&) {
  AG_ASSIGN_OR_RETURN(const Message message, message::FromJsonText(event.json));
  return writer_.Show(view_.OnMessage(message));
}

Status ChatReader::OnReset(std::string_view message_id, uint32_t) {
  if (!view_.HasPartOf(message_id)) return Status::Ok();
  error_ = {api::ApiError::kUnavailable,
            "the worker that produced this answer has ended and another one begins it again: "
            "repeat the request with its Idempotency-Key to get it",
            {}};
  return Status(StatusCode::kUnavailable, error_->message);
}

Status ChatReader::OnError(const api::RunError& error, const api::EventPlace&) {
  error_ = api::ErrorOf(error.status);
  return Status::Ok();
}

Status ChatReader::OnEnd(const api::RunEnd& end, const api::EventPlace&) {
  if (!error_) error_ = facades::FailureOf(end);
  // The protocol has no reason to finish that says that an answer is not complete.
  if (!error_ && end.outcome == run::RunStatus::kStopped) {
    error_ = {api::ApiError::kCancelled, "the run was stopped", {}};
  }
  if (!facades::WaitsForTools(end.interrupt_json)) end_.interrupt_json = end.interrupt_json;
  if (!end_.interrupt_json.empty()) view_.KeepCallsForLater();
  return Status::Ok();
}

void ChatReader::Finish(const std::optional<api::ErrorInfo>& error) {
  if (error_) return writer_.Fail(*error_);
  if (error) return writer_.Fail(*error);
  writer_.Finish(view_, end_);
}

}  // namespace agent_graph::openai
