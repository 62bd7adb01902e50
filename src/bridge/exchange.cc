#include "bridge/exchange.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/check.h"
#include "runtime/runtime.h"

namespace agent_graph::bridge {
namespace {

// The event loop enforces the limit on body size, so the engine asks for the whole body.
constexpr uint64_t kWholeBody = std::numeric_limits<uint64_t>::max();

// Size of a piece of a body that was delivered whole and is read in pieces.
constexpr uint64_t kStoredPieceBytes = 64 * 1024;

}  // namespace

Exchange::Exchange(ExchangeAddress address, RequestHead head, Outbox& outbox, CreditLimits credit)
    : address_(address), head_(std::move(head)), outbox_(outbox), credit_limits_(credit) {}

Exchange::~Exchange() {
  End("error");
  Hold(0);
  outbox_.memory().CountElsewhere(-body_bytes_elsewhere_);
  outbox_.memory().CountBuffered(-body_bytes_ - queued_bytes_ - mailbox_bytes_ - taken_bytes_);
}

void Exchange::DeliverBody(Body body) {
  {
    MutexLock lock(mutex_);
    if (body_present_) return;
    body_present_ = true;
    body_bytes_ = static_cast<int64_t>(body.size());
    outbox_.memory().CountBuffered(body_bytes_);
    if (body.in_file()) CountBodyElsewhere();
    body_ = std::move(body);
  }
  body_signal_.Notify();
}

void Exchange::FailBody(Status status) {
  {
    MutexLock lock(mutex_);
    if (body_present_) return;
    body_present_ = true;
    body_status_ = std::move(status);
  }
  body_signal_.Notify();
}

void Exchange::DeliverBodyPiece(std::string bytes, bool last) {
  {
    MutexLock lock(mutex_);
    if (body_present_) return;  // failed
    body_complete_ = body_complete_ || last;
    if (!bytes.empty()) {
      body_bytes_ += static_cast<int64_t>(bytes.size());
      outbox_.memory().CountBuffered(static_cast<int64_t>(bytes.size()));
      body_pieces_.push_back(std::move(bytes));
    }
  }
  body_signal_.Notify();
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
  outbox_.memory().CountBuffered(-returned);
  if (before <= low || before - returned > low) return;
  credit_signal_.Notify();
  if (head_.websocket) NotifyArrival();
}

void Exchange::Cancel(runtime::CancelReason reason) {
  cancellation_.Cancel(reason);
  if (!head_.websocket) return;
  MutexLock lock(mutex_);
  std::optional<runtime::Cancellation> message = message_cancellation_;
  lock.Unlock();
  if (message) message->Cancel(reason);
}

bool Exchange::DeliverMessage(SocketMessage message) {
  MutexLock lock(mutex_);
  if (mailbox_closed_) return false;
  CountMailbox(static_cast<int64_t>(message.mailbox_bytes()));
  mailbox_.push_back(std::move(message));
  if (arrival_ != nullptr) arrival_->Notify();
  return !std::exchange(turn_running_, true);
}

void Exchange::CloseMailbox() {
  MutexLock lock(mutex_);
  mailbox_closed_ = true;
  if (arrival_ == nullptr) {
    mailbox_.clear();
    CountMailbox(-mailbox_bytes_);
  } else {
    arrival_->Notify();
  }
}

void Exchange::RequestLeave() {
  leaving_ = true;
  NotifyArrival();
}

void Exchange::NotifyArrival() {
  MutexLock lock(mutex_);
  if (arrival_ != nullptr) arrival_->Notify();
}

void Exchange::CancelMessage(uint64_t ordinal, runtime::CancelReason reason) {
  MutexLock lock(mutex_);
  if (messages_taken_ != ordinal || !message_cancellation_) return;
  runtime::Cancellation message = *message_cancellation_;
  lock.Unlock();
  message.Cancel(reason);
}

Result<Body> Exchange::TakeBody(Deadline deadline) {
  bool asked = false;
  for (;;) {
    if (cancellation_.cancelled()) {
      return WakeStatus(runtime::WakeReason::kCancelled, &cancellation_);
    }
    {
      MutexLock lock(mutex_);
      if (body_taken_) return Status(StatusCode::kInternal, "the request body was taken before");
      if (body_present_) {
        body_taken_ = true;
        if (!body_status_.ok()) return body_status_;
        return std::move(body_);
      }
    }
    if (!asked) Push(ReadBody{kWholeBody});
    asked = true;
    const runtime::WakeReason reason = body_signal_.Wait(&cancellation_, deadline);
    if (reason != runtime::WakeReason::kNotified) return WakeStatus(reason, &cancellation_);
  }
}

Result<std::string> Exchange::TakeBodyPiece(Deadline deadline) {
  if (!std::exchange(body_asked_, true)) Push(ReadBody{kBodyWindowBytes});
  for (;;) {
    if (cancellation_.cancelled()) {
      return WakeStatus(runtime::WakeReason::kCancelled, &cancellation_);
    }
    MutexLock lock(mutex_);
    if (!body_status_.ok()) return body_status_;
    if (!body_pieces_.empty()) {
      std::string piece = std::move(body_pieces_.front());
      body_pieces_.pop_front();
      const auto size = static_cast<int64_t>(piece.size());
      body_bytes_ -= size;
      lock.Unlock();
      outbox_.memory().CountBuffered(-size);
      body_taken_bytes_ += piece.size();
      if (body_taken_bytes_ >= kBodyWindowBytes / 2) {
        Push(ReadBody{std::exchange(body_taken_bytes_, 0)});
      }
      return piece;
    }
    if (body_complete_) return std::string();
    // Once the body is present, the loop never touches it again.
    Body* const stored = body_present_ ? &body_ : nullptr;
    lock.Unlock();
    if (stored != nullptr) return TakeStoredPiece(*stored);
    const runtime::WakeReason reason = body_signal_.Wait(&cancellation_, deadline);
    if (reason != runtime::WakeReason::kNotified) return WakeStatus(reason, &cancellation_);
  }
}

// Of a body that was delivered whole.
Result<std::string> Exchange::TakeStoredPiece(Body& body) {
  const uint64_t left = body.size() - std::min(body.size(), body_taken_bytes_);
  const uint64_t size = std::min(kStoredPieceBytes, left);
  if (!body.in_file()) {
    if (size > 0) {
      return body.bytes.substr(std::exchange(body_taken_bytes_, body_taken_bytes_ + size), size);
    }
    body = {};
    FreedBody();
    return std::string();
  }
  std::string piece(size, '\0');
  ssize_t got = 0;
  auto read = [&] {
    do {
      got =
          pread(body.file.get(), piece.data(), piece.size(), static_cast<off_t>(body_taken_bytes_));
    } while (got < 0 && errno == EINTR);
    if (got > 0 && body_taken_bytes_ + static_cast<uint64_t>(got) == body.file_length) {
      body.file.Reset();
    }
  };
  if (piece.empty()) return piece;
  if (runtime::Runtime* const runtime = runtime::Runtime::Current()) {
    runtime->RunOnIoPool(read);
  } else {
    read();
  }
  if (got <= 0) return Status(StatusCode::kInternal, "the request body cannot be read back");
  piece.resize(static_cast<size_t>(got));
  body_taken_bytes_ += piece.size();
  return piece;
}

// With mutex_ held.
void Exchange::CountBodyElsewhere() {
  const int64_t bytes = body_bytes_ - std::exchange(body_bytes_elsewhere_, body_bytes_);
  if (bytes != 0) outbox_.memory().CountElsewhere(bytes);
}

void Exchange::FreedBody() {
  MutexLock lock(mutex_);
  CountBodyElsewhere();
}

Status Exchange::AwaitMemory(uint64_t bytes, Deadline deadline) {
  AG_RETURN_IF_ERROR(outbox_.memory().AwaitRoom(bytes, active_cancellation(), deadline));
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
  AG_RETURN_IF_ERROR(AwaitRoom(cancellation, wait_max));
  PushChunk(kept);
  return Status::Ok();
}

bool Exchange::HasCredit() const {
  return queued_bytes_ < static_cast<int64_t>(credit_limits_.high);
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
  if (!ended_) Push(bridge::Annotate{std::move(thread_id), std::move(run_id)});
}

void Exchange::CountRun(std::string outcome) {
  Push(RunOver{std::move(outcome)});
}

void Exchange::End(std::string outcome) {
  if (std::exchange(ended_, true)) return;
  Push(bridge::End{std::move(outcome)});
}

void Exchange::AcceptSocket(ReplyHead head, std::unique_ptr<SocketState> state) {
  AG_CHECK(socket_state_ == nullptr && !head_sent_, "a handshake is accepted once");
  socket_state_ = std::move(state);
  SendHead(std::move(head));
}

void Exchange::NotifyArrivals(runtime::Signal* arrival) {
  MutexLock lock(mutex_);
  arrival_ = arrival;
}

std::optional<SocketMessage> Exchange::TakeMessage() {
  std::optional<SocketMessage> message;
  {
    MutexLock lock(mutex_);
    ForgetTakenMessage();
    if (mailbox_.empty()) return std::nullopt;
    message = PopMessage();
  }
  Push(ReadBody{message->mailbox_bytes()});
  return message;
}

bool Exchange::mailbox_drained() const {
  MutexLock lock(mutex_);
  return mailbox_closed_ && mailbox_.empty();
}

std::optional<SocketMessage> Exchange::NextMessage() {
  std::optional<SocketMessage> message;
  {
    MutexLock lock(mutex_);
    AG_CHECK(turn_running_, "only a running turn takes messages");
    ForgetTakenMessage();
    if (mailbox_.empty() || cancellation_.cancelled()) {
      turn_running_ = false;
    } else {
      message = PopMessage();
      message_cancellation_.emplace();
    }
  }
  if (message) {
    Push(ReadBody{message->mailbox_bytes()});
  } else {
    Push(TurnOver{});
  }
  return message;
}

void Exchange::CloseSocket(uint16_t code, std::string reason, std::string outcome) {
  if (ended_) return;
  Push(bridge::CloseSocket{code, std::move(reason)});
  End(std::move(outcome));
}

SocketMessage Exchange::PopMessage() {
  SocketMessage message = std::move(mailbox_.front());
  mailbox_.pop_front();
  taken_bytes_ = static_cast<int64_t>(message.mailbox_bytes());
  AG_CHECK(mailbox_bytes_ >= taken_bytes_, "every message of the mailbox is counted");
  mailbox_bytes_ -= taken_bytes_;
  ++messages_taken_;
  return message;
}

void Exchange::ForgetTakenMessage() {
  outbox_.memory().CountBuffered(-std::exchange(taken_bytes_, 0));
}

void Exchange::CountMailbox(int64_t bytes) {
  mailbox_bytes_ += bytes;
  outbox_.memory().CountBuffered(bytes);
}

void Exchange::PushChunk(std::string_view bytes) {
  if (bytes.empty()) return;
  CountQueued(bytes.size());
  outbox_.PushChunk(address_, bytes, open_chunk_);
}

void Exchange::CountQueued(size_t bytes) {
  queued_bytes_ += static_cast<int64_t>(bytes);
  outbox_.memory().CountBuffered(static_cast<int64_t>(bytes));
}

void Exchange::Push(OutboxPayload payload) {
  open_chunk_ = {};
  outbox_.Push({address_, std::move(payload)});
}

}  // namespace agent_graph::bridge
