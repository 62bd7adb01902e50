#include "facades/openai/stored_responses.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "api/http/page_reads.h"
#include "api/http/request_memory.h"
#include "base/json.h"
#include "base/own_json.h"
#include "base/utf8.h"
#include "facades/openai/continued_thread.h"
#include "facades/openai/deleted_responses.h"
#include "facades/openai/repeated_input.h"
#include "facades/openai/response_log.h"
#include "facades/openai/stored_items.h"
#include "facades/run/facade_run.h"
#include "facades/run/held_bytes.h"
#include "graph/compiled_graph.h"
#include "message/codec.h"
#include "settings/settings.h"
#include "state/service.h"

namespace agent_graph::openai {
namespace {

using api::HandlerContext;

constexpr uint64_t kWindowMax = 10'000;
constexpr uint64_t kPageMessages = 1000;

api::ErrorInfo NoSuchResponse() {
  return {api::ApiError::kNotFound, "there is no response with this id", {}};
}

// Returns why the caller may not use the thread; kNotFound: it is another user's or does not exist.
// The guard has checked before that the caller may use responses, so a refusal is about this thread
// only.
std::optional<api::ErrorInfo> CheckUse(HandlerContext& context, const std::string& thread_id) {
  std::optional<api::ErrorInfo> refusal = context.CheckThread(context.route(), thread_id);
  const bool hides_thread = refusal && (refusal->error == api::ApiError::kNotFound ||
                                        refusal->error == api::ApiError::kPermissionDenied);
  if (!hides_thread) return refusal;
  // The guard refuses a thread also if it could not read its owner. Clients take "not found" as
  // final, and repeat a request after other errors.
  const Status readable = context.state().GetThread(context.caller().scope, thread_id).status();
  const bool is_failure = !readable.ok() && readable.code() != StatusCode::kNotFound;
  return is_failure ? context.Explain(readable) : NoSuchResponse();
}

Status TooManyReferenced(uint64_t bytes_max) {
  return Status(StatusCode::kResourceExhausted,
                "is one reference too many: the messages have more than " +
                    std::to_string(bytes_max) + " bytes (limits.run_bytes_max)");
}

Status TooLongConversation(uint64_t bytes_max) {
  return Status(StatusCode::kInvalidArgument, "follows a conversation of more than " +
                                                  std::to_string(bytes_max) +
                                                  " bytes (limits.run_bytes_max)");
}

// Counts `bytes` of a conversation as memory of the request, once there is room.
Status AdmitConversation(HandlerContext& context, uint64_t bytes) {
  if (context.exchange().cancellation().cancelled()) {
    return Status(StatusCode::kCancelled, "the request was cancelled");
  }
  return api::AwaitRunGrowth(context.exchange(), bytes, 0);
}

uint64_t BytesOf(const state::MessagePage& page) {
  uint64_t bytes = 0;
  for (const state::StoredMessage& stored : page.messages) bytes += stored.json.size();
  return bytes;
}

// Drops messages with a higher sequence number. Returns true if no page follows that is needed.
bool DropBehind(uint64_t last_sequence, state::MessagePage& page) {
  const auto behind =
      std::ranges::upper_bound(page.messages, last_sequence, {}, &state::StoredMessage::sequence);
  const bool drops = behind != page.messages.end();
  page.messages.erase(behind, page.messages.end());
  return drops || page.next_cursor.empty();
}

// Drops results whose calls are missing, which no model takes: a conversation begins at a message
// of the user, if it has one.
void CutBeginning(std::vector<Message>& messages) {
  auto first = std::ranges::find(messages, Role::kUser, &Message::role);
  if (first == messages.end()) {
    first = std::ranges::find_if(
        messages, [](const Message& message) { return message.role != Role::kTool; });
  }
  messages.erase(messages.begin(), first);
}

// Why a request reads the conversation before it.
enum class Purpose : uint8_t {
  kBranch,      // a run on a thread of its own begins with it
  kRepetition,  // only to find results that the client sends again, which are among the latest
};

// Returns the latest messages of the thread's history up to this one, as many as a window may have.
// The thread's own window may have forgotten some of them. kInvalidArgument: a branch would begin
// with more than a run can hold.
Result<std::vector<Message>> ConversationUntil(HandlerContext& context,
                                               const std::string& thread_id,
                                               const std::string& last_id, Purpose purpose) {
  const state::Scope& scope = context.caller().scope;
  AG_ASSIGN_OR_RETURN(const state::StoredMessage last,
                      context.state().GetMessage(scope, thread_id, last_id));
  const uint64_t window =
      std::min(context.api().settings->window_max.value_or(kWindowMax), kWindowMax);
  const bool is_cut = last.sequence > window;
  state::PageRequest page;
  page.limit = kPageMessages;
  page.cursor = state::CursorOfMessage(is_cut ? last.sequence - window : 0);
  std::vector<Message> messages;
  const uint64_t bytes_max = context.api().settings->limits.run_bytes_max;
  uint64_t bytes = 0;
  bool is_complete = false;
  while (!is_complete) {
    AG_ASSIGN_OR_RETURN(state::MessagePage found,
                        context.state().ListMessages(scope, thread_id, page));
    is_complete = DropBehind(last.sequence, found);
    const uint64_t page_bytes = BytesOf(found);
    if (bytes + page_bytes > bytes_max) {
      if (purpose == Purpose::kBranch) return TooLongConversation(bytes_max);
      messages.clear();
      bytes = 0;
    }
    bytes += page_bytes;
    AG_RETURN_IF_ERROR(AdmitConversation(context, bytes));
    for (const state::StoredMessage& stored : found.messages) {
      AG_ASSIGN_OR_RETURN(Message message, message::FromJsonText(stored.json));
      if (!HandsOutCalls(message)) messages.push_back(std::move(message));
    }
    page.cursor = std::move(found.next_cursor);
  }
  if (is_cut && purpose == Purpose::kBranch) CutBeginning(messages);
  return messages;
}

}  // namespace

std::optional<api::ErrorInfo> FindResponse(HandlerContext& context, const ResponseName& name,
                                           state::RunRecord& run) {
  const bool may_exist = context.api().state != nullptr && !name.thread_id.empty() &&
                         !api::ThreadIdProblem(name.thread_id) &&
                         name.run_id.size() <= api::kIdBytesMax && IsUtf8(name.run_id);
  if (!may_exist) return NoSuchResponse();
  if (auto error = CheckUse(context, name.thread_id)) return error;
  const state::Scope& scope = context.caller().scope;
  Result<state::RunRecord> found = context.state().GetRun({scope, name.thread_id, name.run_id});
  if (found.status().code() == StatusCode::kNotFound) return NoSuchResponse();
  if (!found.ok()) return context.Explain(found.status());
  const Result<state::ThreadRecord> thread = context.state().GetThread(scope, name.thread_id);
  if (thread.status().code() == StatusCode::kNotFound) return NoSuchResponse();
  if (!thread.ok()) return context.Explain(thread.status());
  if (IsDeleted(*thread, name.run_id)) return NoSuchResponse();
  run = *std::move(found);
  return std::nullopt;
}

ResponseReaderOptions ReaderOptions(const HandlerContext& context) {
  ResponseReaderOptions options;
  options.model = context.api().graph->name();
  options.show_tools = context.api().settings->facades.openai.show_tools;
  return options;
}

ResponseReaderOptions FollowingReaderOptions(HandlerContext& context) {
  ResponseReaderOptions options = ReaderOptions(context);
  options.hold = [held = facades::HeldBytes(&context.exchange())](uint64_t bytes) mutable {
    held.Set(bytes);
  };
  return options;
}

std::optional<api::ErrorInfo> ReadResponse(HandlerContext& context, const ResponseName& name,
                                           ResponseReader& reader) {
  // Takes a place like other reads of stored data. Streams take none, because they would keep it
  // for long.
  api::PageReads::Place place;
  if (auto error = api::EnterPageReads(context.exchange(), *context.api().page_reads,
                                       context.api().settings->limits, place)) {
    return error;
  }
  api::FollowerOptions options;
  options.pieces_of_log = true;
  options.until_now = true;
  return facades::ReadRun(context, {name.thread_id, name.run_id}, options, reader);
}

Status ReferencedMessages::Failed(api::ErrorInfo error) {
  failure_ = std::move(error);
  return Unavailable("a stored item could not be read");
}

Result<state::StoredMessage> ReferencedMessages::Read(const ItemName& name) {
  const Status unknown = NotFound("no such item");
  if (context_.api().state == nullptr || api::ThreadIdProblem(name.thread_id)) return unknown;
  if (auto error = CheckUse(context_, name.thread_id)) {
    return error->error == api::ApiError::kNotFound ? unknown : Failed(*std::move(error));
  }
  Result<state::StoredMessage> found =
      context_.state().GetMessage(context_.caller().scope, name.thread_id, name.message_id);
  const StatusCode code = found.status().code();
  if (code == StatusCode::kNotFound || code == StatusCode::kInvalidArgument) return unknown;
  if (!found.ok()) return Failed(context_.Explain(found.status()));
  return found;
}

Result<Message> ReferencedMessages::Find(const ItemName& name) {
  const uint64_t bytes_max = context_.api().settings->limits.run_bytes_max;
  if (failure_) return Failed(*failure_);
  if (bytes_ > bytes_max) return TooManyReferenced(bytes_max);
  AG_ASSIGN_OR_RETURN(const state::StoredMessage stored, Read(name));
  bytes_ += stored.json.size();
  if (bytes_ > bytes_max) return TooManyReferenced(bytes_max);
  const Status room = api::AwaitRunMemory(context_.exchange(), stored.json.size());
  if (!room.ok()) return Failed(context_.Explain(room));
  return message::FromJsonText(stored.json);
}

std::optional<api::ErrorInfo> FollowResponse(HandlerContext& context, const ResponseName& previous,
                                             bool is_stored, run::RunRequest& run) {
  state::RunRecord record;
  if (auto error = FindResponse(context, previous, record)) {
    if (error->error != api::ApiError::kNotFound) return error;
    error->details.push_back({{"body", "previous_response_id"},
                              "there is no response with this id",
                              api::ProblemType::kValue});
    error->code = "previous_response_not_found";
    return error;
  }
  bool uses_thread = false;
  if (is_stored) {
    const Result<bool> claimed = ClaimThread(context, previous);
    if (!claimed.ok()) return context.Explain(claimed.status());
    uses_thread = *claimed;
  }
  if (uses_thread) run.thread_id = previous.thread_id;
  const bool may_repeat = MayRepeat(run.messages);
  if (uses_thread && !may_repeat) return std::nullopt;
  std::string last;
  if (auto error = ReadLastMessageId(context, record, last)) return error;
  if (last.empty()) return std::nullopt;
  if (Status room = api::AwaitStateMemory(context.exchange(), context.state(),
                                          context.caller().scope, previous.thread_id);
      !room.ok()) {
    return context.Explain(room);
  }
  api::PageReads::Place place;
  if (auto error = api::EnterPageReads(context.exchange(), *context.api().page_reads,
                                       context.api().settings->limits, place)) {
    return error;
  }
  Result<std::vector<Message>> messages = ConversationUntil(
      context, previous.thread_id, last, uses_thread ? Purpose::kRepetition : Purpose::kBranch);
  if (messages.status().code() == StatusCode::kInvalidArgument) {
    api::Problems problems;
    problems.Add({"body", "previous_response_id"}, messages.status().message(),
                 api::ProblemType::kTooLong);
    return std::move(problems).Error();
  }
  if (!messages.ok()) return context.Explain(messages.status());
  if (may_repeat) DropRepeated(*messages, run.messages);
  if (uses_thread) return std::nullopt;
  for (Message& message : run.messages) messages->push_back(std::move(message));
  run.messages = *std::move(messages);
  return std::nullopt;
}

}  // namespace agent_graph::openai
