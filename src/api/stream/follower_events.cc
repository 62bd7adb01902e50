// RunFollower: the events that its reader gets.
#include <utility>

#include "agent_graph/json.h"
#include "api/stream/run_follower.h"
#include "api/stream/run_outcome.h"
#include "base/clock.h"
#include "message/codec.h"
#include "message/reader.h"
#include "run/context/agent_state.h"
#include "run/context/execution_meta.h"
#include "run/entry_events.h"
#include "run/run_events.h"

namespace agent_graph::api {
namespace {

// In place of text in the cursor of `done`.
constexpr uint64_t kDoneMark = 1;

// The end of a run does not belong to an attempt, so it invalidates no message.
bool IsEnd(const run::EntryBody& body) {
  return std::holds_alternative<run::entry::RunFinished>(body) ||
         std::holds_alternative<run::entry::RunFailed>(body);
}

// The texts that the deltas of a message make up.
struct Texts {
  std::string message_id;
  std::string text;
  std::string reasoning;
};

std::string InterruptOf(const run::entry::Interrupted& interrupted) {
  using Phase = run::ExecutionMeta::Phase;
  run::ExecutionMeta meta;
  const bool before = interrupted.phase == run::PhaseName(Phase::kInterruptedBefore);
  meta.phase = before ? Phase::kInterruptedBefore : Phase::kInterruptedAfter;
  meta.interrupted_node = interrupted.node;
  meta.interrupt_reason = interrupted.reason;
  meta.interrupt_data_json = interrupted.data_json;
  return run::InterruptJson(meta);
}

// Returns the bytes of a piece that the reader does not have. Empty if it has all of them, because
// a piece may be logged twice, and if bytes before the piece are missing: the whole message
// follows.
std::string_view NewPart(std::string_view text, uint64_t begin, uint64_t known) {
  if (begin > known || begin + text.size() <= known) return {};
  return text.substr(known - begin);
}

Texts TextsOf(const std::string& message_json) {
  Texts texts;
  const Result<Message> message = message::FromJsonText(message_json);
  if (!message.ok() || message->role != Role::kAssistant) return texts;
  texts.message_id = message->id;
  texts.text = message->Text();
  texts.reasoning = message::ReasoningOfBlocks(*message);
  return texts;
}

}  // namespace

Status RunFollower::ShowEntry(const state::IndexedEntry& indexed) {
  if (lost_epoch_ && indexed.lease_epoch <= *lost_epoch_) return Status::Ok();
  const std::optional<run::EntryBody> body = run::Decode(indexed.entry);
  if (!body) return Status::Ok();
  if (!IsEnd(*body)) AG_RETURN_IF_ERROR(ResetVoid(indexed.lease_epoch));
  lease_epoch_ = std::max(lease_epoch_, indexed.lease_epoch);
  const std::string cursor = CursorAt(indexed.index + 1);
  const EventPlace place{cursor, indexed.entry.micros};
  if (const auto* note = std::get_if<run::entry::RunNote>(&*body)) {
    return Sent(reader_->OnNote(note->note_json, place));
  }
  if (const auto* piece = std::get_if<run::entry::MessagePiece>(&*body)) {
    return options_.pieces_of_log ? ShowPiece(*piece, indexed.lease_epoch) : Status::Ok();
  }
  if (const auto* started = std::get_if<run::entry::NodeStarted>(&*body)) {
    step_ = static_cast<int>(started->step);
  } else if (const auto* model = std::get_if<run::entry::ModelStarted>(&*body)) {
    parts_.Name(model->message_id, indexed.lease_epoch);
  } else if (const auto* finished = std::get_if<run::entry::NodeFinished>(&*body)) {
    parts_.EndNode(indexed.lease_epoch);
    return Sent(reader_->OnNodeFinished(finished->node, static_cast<int>(finished->step), place));
  } else if (const auto* interrupted = std::get_if<run::entry::Interrupted>(&*body)) {
    interrupt_json_ = InterruptOf(*interrupted);
  }
  const auto find_message = [this](const std::string& message_id) -> Result<std::string> {
    AG_ASSIGN_OR_RETURN(state::StoredMessage found,
                        state_.GetMessage(followed_.scope, followed_.thread_id, message_id));
    return std::move(found.json);
  };
  AG_ASSIGN_OR_RETURN(std::optional<run::RunEvent> event, run::EventOf(*body, step_, find_message));
  if (event && event->kind == run::RunEvent::Kind::kMessage) {
    AG_RETURN_IF_ERROR(ShowRest(event->message_json, event->node, indexed.lease_epoch));
  }
  if (const auto* added = std::get_if<run::entry::MessageAdded>(&*body)) {
    parts_.Complete(added->message_id);
  }
  if (event) return ShowEvent(*event, place);
  const state::StateEffect* effect = indexed.entry.effect ? &*indexed.entry.effect : nullptr;
  return effect != nullptr ? Sent(reader_->OnStateChanged(*effect, place)) : Status::Ok();
}

Status RunFollower::ShowEvent(const run::RunEvent& event, const EventPlace& place) {
  if (event.kind == run::RunEvent::Kind::kError) {
    return Sent(reader_->OnError({event.error, event.node, event.step}, place));
  }
  return Sent(reader_->OnMessage({event.message_json, event.node, event.step}, place));
}

Status RunFollower::ShowPiece(const run::entry::MessagePiece& piece, uint64_t lease_epoch) {
  if (parts_.IsComplete(piece.message_id)) return Status::Ok();
  const MessagePart* known = parts_.Find(piece.message_id, lease_epoch);
  MessagePart part{piece.message_id, lease_epoch};
  if (known != nullptr) part = *known;
  const std::string_view reasoning =
      NewPart(piece.reasoning, static_cast<uint64_t>(piece.reasoning_begin), part.reasoning_bytes);
  const std::string_view text =
      NewPart(piece.text, static_cast<uint64_t>(piece.text_begin), part.text_bytes);
  if (reasoning.empty() && text.empty()) return Status::Ok();
  part.reasoning_bytes += reasoning.size();
  part.text_bytes += text.size();
  const int step = static_cast<int>(piece.step);
  return ShowDelta({piece.message_id, text, reasoning, piece.node, step}, part, known == nullptr);
}

Status RunFollower::ShowPartial(const run::LiveRun::View& view, const std::string& asked_id) {
  const run::LiveRun::Partial& partial = *view.partial;
  if (parts_.IsComplete(partial.message_id)) return Status::Ok();
  lease_epoch_ = std::max(lease_epoch_, view.lease_epoch);
  MessagePart part{partial.message_id, view.lease_epoch};
  std::string_view reasoning = partial.reasoning;
  std::string_view text = partial.text;
  const MessagePart* known = parts_.Find(partial.message_id, view.lease_epoch);
  if (known != nullptr) part = *known;
  // The view has either the bytes behind what the reader has, or the whole message.
  if (known != nullptr && (asked_id.empty() || asked_id != partial.message_id)) {
    reasoning = TextBehind(reasoning, part.reasoning_bytes);
    text = TextBehind(text, part.text_bytes);
    if (!reasoning.empty()) part.reasoning_bytes = partial.reasoning.size();
    if (!text.empty()) part.text_bytes = partial.text.size();
  } else {
    part.reasoning_bytes += reasoning.size();
    part.text_bytes += text.size();
  }
  if (reasoning.empty() && text.empty()) return Status::Ok();
  return ShowDelta({partial.message_id, text, reasoning, partial.node, partial.step}, part,
                   known == nullptr);
}

// A reader that has a part of the message gets the rest before the message as a whole, so that its
// deltas alone make up the text, too.
Status RunFollower::ShowRest(const std::string& message_json, const std::string& node,
                             uint64_t lease_epoch) {
  if (parts_.empty()) return Status::Ok();
  const Texts texts = TextsOf(message_json);
  const MessagePart* known =
      texts.message_id.empty() ? nullptr : parts_.Find(texts.message_id, lease_epoch);
  if (known == nullptr) return Status::Ok();
  MessagePart part = *known;
  const std::string_view text = TextBehind(texts.text, part.text_bytes);
  const std::string_view reasoning = TextBehind(texts.reasoning, part.reasoning_bytes);
  if (!text.empty() || !reasoning.empty()) {
    part.text_bytes += text.size();
    part.reasoning_bytes += reasoning.size();
    AG_RETURN_IF_ERROR(ShowDelta({texts.message_id, text, reasoning, node, step_}, part, false));
  }
  return Status::Ok();
}

Status RunFollower::ShowDelta(const run::RunDelta& delta, const MessagePart& part, bool is_first) {
  parts_.Update(part.message_id, part.lease_epoch, part.reasoning_bytes, part.text_bytes);
  // A cursor names one message in progress; with more of them, the reader continues at the first.
  std::string cursor;
  if (parts_.size() == 1) cursor = CursorAt(next_, part.reasoning_bytes, part.text_bytes);
  return Sent(reader_->OnDelta(delta, {cursor, UnixMicros()}, is_first));
}

Status RunFollower::ResetVoid(uint64_t lease_epoch) {
  if (parts_.empty()) return Status::Ok();
  for (const MessagePart& part : parts_.TakeVoid(lease_epoch)) {
    AG_RETURN_IF_ERROR(Sent(reader_->OnReset(part.message_id, record_.attempt)));
  }
  return Status::Ok();
}

// A run that the state ended before it did anything has no entries.
Status RunFollower::ShowErrorOfEmptyRun() {
  if (record_.state != state::RunState::kError || next_ > record_.log_begin) return Status::Ok();
  const Status unknown(StatusCode::kUnavailable, "the run did not start");
  const Status error = FailureOfStart(record_).value_or(unknown);
  return Sent(reader_->OnError({error, "", -1}, {"", UnixMicros()}));
}

Status RunFollower::ShowEnd(std::string_view reason) {
  if (reason.empty()) AG_RETURN_IF_ERROR(ShowErrorOfEmptyRun());
  std::string state_json;
  std::string thread_name;
  if (options_.with_state) {
    Result<state::ThreadState> state = options_.read_state
                                           ? options_.read_state()
                                           : state_.GetState(followed_.scope, followed_.thread_id);
    if (state.ok()) {
      state_json = run::AgentStateJson(*state);
      thread_name = state->record.name;
    }
  } else {
    Result<state::ThreadRecord> thread = state_.GetThread(followed_.scope, followed_.thread_id);
    if (thread.ok()) thread_name = thread->name;
  }
  const RunEnd end{.outcome = OutcomeOfRun(record_.state),
                   .interrupt_json = interrupt_json_,
                   .state_json = state_json,
                   .thread_name = thread_name,
                   .reason = reason,
                   .record = &record_};
  const std::string cursor = CursorAt(next_, 0, kDoneMark);
  // The time is the same for every reader.
  const int64_t micros = record_.finished_micros > 0 ? record_.finished_micros : UnixMicros();
  return Sent(reader_->OnEnd(end, {cursor, micros}));
}

}  // namespace agent_graph::api
