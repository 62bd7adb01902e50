#include "facades/openai/response_log.h"

#include <functional>
#include <utility>

#include "run/log/log_entry.h"
#include "state/service.h"

namespace agent_graph::openai {
namespace {

using api::HandlerContext;

constexpr size_t kInputMessagesMax = 10'000;

// Calls `visit` for each entry until it returns false.
std::optional<api::ErrorInfo> VisitLog(HandlerContext& context, const state::RunRecord& run,
                                       const std::function<bool(const run::EntryBody&)>& visit) {
  state::FollowRunRequest read{context.caller().scope, run.thread_id, run.run_id};
  read.first = run.log_begin;
  for (;;) {
    const Result<state::FollowRunReply> page =
        context.state().FollowRun(read, &context.exchange().cancellation());
    if (!page.ok()) return context.Explain(page.status());
    // A queued run has no place in the log yet.
    const bool is_queued = page->run.state == state::RunState::kQueued;
    if (!is_queued && page->kept_from > run.log_begin) {
      return api::ErrorInfo{api::ApiError::kGone, "the log of the response is no longer kept", {}};
    }
    for (const state::IndexedEntry& stored : page->entries) {
      read.first = stored.index + 1;
      const std::optional<run::EntryBody> body = run::Decode(stored.entry);
      if (body && !visit(*body)) return std::nullopt;
    }
    if (page->complete || page->entries.empty()) return std::nullopt;
  }
}

}  // namespace

std::optional<api::ErrorInfo> ReadOrigin(HandlerContext& context, const state::RunRecord& run,
                                         ResponseOrigin& origin) {
  // A run that has ended before it began has no entries, and has brought nothing to the thread.
  origin = ResponseOrigin::kResponse;
  const auto error = VisitLog(context, run, [&](const run::EntryBody& body) {
    if (std::holds_alternative<run::entry::RunStarted>(body)) return true;
    const auto* note = std::get_if<run::entry::RunNote>(&body);
    origin = OriginOf(note != nullptr ? note->note_json : std::string(), run.thread_id);
    return false;
  });
  if (error && error->error == api::ApiError::kGone) {
    origin = ResponseOrigin::kConversation;
    return std::nullopt;
  }
  return error;
}

std::optional<api::ErrorInfo> ReadInputMessageIds(HandlerContext& context,
                                                  const state::RunRecord& run,
                                                  std::vector<std::string>& ids) {
  return VisitLog(context, run, [&](const run::EntryBody& body) {
    const auto* added = std::get_if<run::entry::MessageAdded>(&body);
    if (added == nullptr) return true;
    if (!added->node.empty()) return false;
    ids.push_back(added->message_id);
    return ids.size() < kInputMessagesMax;
  });
}

std::optional<api::ErrorInfo> ReadLastMessageId(HandlerContext& context,
                                                const state::RunRecord& run, std::string& id) {
  return VisitLog(context, run, [&](const run::EntryBody& body) {
    const auto* added = std::get_if<run::entry::MessageAdded>(&body);
    if (added != nullptr) id = added->message_id;
    return true;
  });
}

}  // namespace agent_graph::openai
