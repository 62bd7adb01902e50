#include "facades/openai/followed_chat.h"

#include <utility>

#include "agent_graph/json.h"
#include "api/http/validation.h"
#include "base/json.h"
#include "base/own_json.h"
#include "facades/openai/interrupt.h"
#include "message/codec.h"

namespace agent_graph::openai {
namespace {

std::string TextIn(const json& object, const char* name) {
  const json* member = api::FindMember(object, name);
  return member != nullptr && member->is_string() ? member->get<std::string>() : std::string();
}

// The error of the table that has this code.
api::ApiError ErrorWithCode(std::string_view code) {
  for (int i = 0; i <= static_cast<int>(api::ApiError::kInternal); ++i) {
    const auto error = static_cast<api::ApiError>(i);
    if (api::Describe(error).code == code) return error;
  }
  return api::ApiError::kInternal;
}

}  // namespace

Status FollowedChat::Send(const api::StreamLine& line) {
  const Result<json> chunk = ParseJson(line.json, kOwnJsonLimits);
  if (!chunk.ok()) return Status(StatusCode::kInternal, "a line of the run cannot be read");
  const json* message = api::FindMember(*chunk, "message");
  if (message != nullptr) return TakeMessage(*message);
  const json* data = api::FindMember(*chunk, "data");
  if (data == nullptr) return Status::Ok();
  const std::string status = TextIn(*data, "status");
  if (status == "error") {
    error_ = {ErrorWithCode(TextIn(*data, "code")), TextIn(*data, "reason"), {}};
  } else if (status == "retrying") {
    return TakeReset(*data);
  } else if (status == "done") {
    if (!error_ && TextIn(*data, "outcome") == "error") {
      error_ = {api::ApiError::kInternal, "the run failed", {}};
    }
    const json* interrupt = api::FindMember(*data, "interrupt");
    if (interrupt != nullptr) end_.interrupt_json = QuestionOf(DumpJson(*interrupt));
  }
  return Status::Ok();
}

Status FollowedChat::TakeMessage(const json& message) {
  const json* delta = api::FindMember(message, "delta");
  AG_ASSIGN_OR_RETURN(const Message read, message::FromJsonText(DumpJson(message)));
  if (delta == nullptr || *delta != true) return writer_.Show(view_.OnMessage(read));
  return writer_.Show(view_.OnDelta(read.id, read.Text(), TextIn(message, "reasoning")));
}

Status FollowedChat::TakeReset(const json& data) {
  if (!view_.HasPartOf(TextIn(data, "reset"))) return Status::Ok();
  error_ = {api::ApiError::kUnavailable,
            "the worker that produced this answer has ended and another one begins it again: "
            "repeat the request with its Idempotency-Key to get it",
            {}};
  return Status(StatusCode::kUnavailable, error_->message);
}

void FollowedChat::Finish(const Status& followed) {
  if (error_) return writer_.Fail(*error_);
  // The run goes on when this worker leaves, and any other worker can answer.
  if (followed.code() == StatusCode::kCancelled) {
    return writer_.Fail(api::ErrorInfo{api::ApiError::kShuttingDown, "", {}});
  }
  if (!followed.ok()) return writer_.Fail(followed);
  writer_.Finish(view_, end_);
}

}  // namespace agent_graph::openai
