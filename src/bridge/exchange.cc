#include "bridge/exchange.h"

#include <utility>

#include "base/check.h"

namespace agent_graph::bridge {
Exchange::Exchange(ExchangeAddress address, RequestHead head, Outbox& outbox, CreditLimits credit)
    : address_(address),
      head_(std::move(head)),
      outbox_(outbox),
      credit_limits_(credit),
      body_(outbox.memory(), cancellation_,
            [this](uint64_t bytes) { outbox_.Push({address_, ReadBody{bytes}}); }),
      socket_(!head_.websocket ? nullptr
                               : std::make_unique<SocketChannel>(
                                     outbox.memory(), cancellation_, [this](OutboxPayload payload) {
                                       outbox_.Push({address_, std::move(payload)});
                                     })) {}

Exchange::~Exchange() {
  End("error");
  Hold(0);
  outbox_.memory().CountReplies(-queued_bytes_);
}

void Exchange::DeliverAdmission() {
  admitted_ = true;
  admission_signal_.Notify();
}

void Exchange::ReturnCredit(uint64_t bytes) {
  const auto returned = static_cast<int64_t>(bytes);
  const auto low = static_cast<int64_t>(credit_limits_.low);
  const int64_t before = queued_bytes_.fetch_sub(returned);
  AG_CHECK(before >= returned, "credit comes back once");
  outbox_.memory().CountReplies(-returned);
  if (before <= low || before - returned > low) return;
  credit_signal_.Notify();
  if (socket_ != nullptr) socket_->NotifyArrival();
}

void Exchange::Cancel(runtime::CancelReason reason) {
  cancellation_.Cancel(reason);
  if (socket_ != nullptr) socket_->CancelTakenMessage(reason);
}

const runtime::Cancellation& Exchange::active_cancellation() const {
  const runtime::Cancellation* const message =
      socket_ == nullptr ? nullptr : socket_->message_cancellation();
  return message == nullptr ? cancellation_ : *message;
}

std::optional<RunNote> Exchange::TakeNote() {
  if (!has_note_) return std::nullopt;
  MutexLock lock(note_mutex_);
  has_note_ = false;
  return std::exchange(note_, {});
}

Status Exchange::AwaitMemory(uint64_t bytes, Deadline deadline) {
  WorkerMemory& memory = outbox_.memory();
  AG_RETURN_IF_ERROR(memory.AwaitRoom(bytes, active_cancellation(), deadline, held_bytes()));
  held_bytes_ += static_cast<int64_t>(bytes);
  return Status::Ok();
}

Status Exchange::AwaitInputMemory(uint64_t bytes, Deadline deadline) {
  AG_RETURN_IF_ERROR(outbox_.memory().AwaitInputRoom(bytes, active_cancellation(), deadline));
  held_bytes_ += static_cast<int64_t>(bytes);
  return Status::Ok();
}

void Exchange::Hold(uint64_t bytes) {
  const auto held = static_cast<int64_t>(bytes);
  if (held == held_bytes_) return;
  outbox_.memory().CountHeld(held - std::exchange(held_bytes_, held));
}

Status Exchange::Admit(std::string user_id, Deadline deadline) {
  Push(bridge::Admit{std::move(user_id)});
  while (!admitted_) {
    const runtime::WakeReason reason = admission_signal_.Wait(&cancellation_, deadline);
    if (reason != runtime::WakeReason::kNotified) return WakeStatus(reason, &cancellation_);
  }
  return Status::Ok();
}

void Exchange::SendHead(ReplyHead head) {
  if (head_sent_ || ended_) return;
  head_sent_ = true;
  Push(bridge::SendHead{std::move(head)});
}

void Exchange::SendFile(FileDescriptor file, uint64_t offset, uint64_t length) {
  if (ended_ || length == 0) return;
  Push(bridge::SendFile{std::move(file), offset, length});
}

Status Exchange::Send(std::string_view bytes, std::chrono::milliseconds wait_max) {
  if (ended_) return Status(StatusCode::kInternal, "the reply has ended");
  const runtime::Cancellation& cancellation = active_cancellation();
  if (cancellation.cancelled()) {
    return WakeStatus(runtime::WakeReason::kCancelled, &cancellation);
  }
  if (HasCredit()) {
    PushChunk(bytes);
    return Status::Ok();
  }
  const std::string kept(bytes);
  // Counted: each client that does not read makes the worker hold such a line.
  const auto kept_bytes = static_cast<int64_t>(kept.size());
  outbox_.memory().CountReplies(kept_bytes);
  Status room = AwaitRoom(cancellation, wait_max);
  if (room.ok()) PushChunk(kept);
  outbox_.memory().CountReplies(-kept_bytes);
  return room;
}

bool Exchange::HasCredit() const {
  const int64_t queued = queued_bytes_;
  if (queued <= static_cast<int64_t>(credit_limits_.low)) return true;
  return queued < static_cast<int64_t>(credit_limits_.high) && !outbox_.memory().has_many_replies();
}

Status Exchange::AwaitReader(std::chrono::milliseconds wait_max) {
  if (HasCredit()) return Status::Ok();
  Push(MessageOver{});
  return AwaitRoom(cancellation_, wait_max);
}

Status Exchange::AwaitRoom(const runtime::Cancellation& cancellation,
                           std::chrono::milliseconds wait_max) {
  outbox_.CountCreditStall();
  const Deadline deadline = DeadlineAfter(wait_max);
  while (queued_bytes_ > static_cast<int64_t>(credit_limits_.low)) {
    const runtime::WakeReason reason = credit_signal_.Wait(&cancellation, deadline);
    if (reason != runtime::WakeReason::kNotified) return WakeStatus(reason, &cancellation);
  }
  return Status::Ok();
}

void Exchange::SendLast(std::string_view bytes) {
  if (ended_ || cancellation_.reason() == runtime::CancelReason::kClientGone) return;
  PushChunk(bytes);
}

void Exchange::Reply(ReplyHead head, std::vector<std::string> body, std::string outcome) {
  if (head_sent_ || ended_) return;
  head.content_length = 0;
  for (const std::string& part : body) head.content_length += static_cast<int64_t>(part.size());
  SendHead(std::move(head));
  for (std::string& part : body) {
    if (part.empty()) continue;
    CountQueued(part.size());
    Push(SendChunk{std::move(part)});
  }
  End(std::move(outcome));
}

void Exchange::Annotate(std::string thread_id, std::string run_id) {
  MutexLock lock(note_mutex_);
  if (!thread_id.empty()) note_.thread_id = std::move(thread_id);
  if (!run_id.empty()) note_.run_id = std::move(run_id);
  note_.noted_at = MonotonicClock::now();
  has_note_ = true;
}

void Exchange::CountRun(std::string outcome) {
  Push(RunOver{std::move(outcome)});
}

void Exchange::End(std::string outcome) {
  if (std::exchange(ended_, true)) return;
  Push(bridge::End{std::move(outcome)});
}

void Exchange::AcceptSocket(ReplyHead head, std::unique_ptr<SocketState> state) {
  AG_CHECK(!head_sent_, "a handshake is accepted before anything is answered");
  socket_->SetState(std::move(state));
  SendHead(std::move(head));
}

void Exchange::CloseSocket(uint16_t code, std::string reason, std::string outcome) {
  if (ended_) return;
  Push(bridge::CloseSocket{code, std::move(reason)});
  End(std::move(outcome));
}

void Exchange::PushChunk(std::string_view bytes) {
  if (bytes.empty()) return;
  CountQueued(bytes.size());
  outbox_.PushChunk(address_, bytes, open_chunk_);
}

void Exchange::CountQueued(size_t bytes) {
  queued_bytes_ += static_cast<int64_t>(bytes);
  outbox_.memory().CountReplies(static_cast<int64_t>(bytes));
}

void Exchange::Push(OutboxPayload payload) {
  open_chunk_ = {};
  outbox_.Push({address_, std::move(payload)});
}

}  // namespace agent_graph::bridge
