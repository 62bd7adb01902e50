#include "run/host/piece_log.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "run/log/log_entry.h"
#include "runtime/runtime.h"

namespace agent_graph::run {
namespace {

// Least time between two pieces of a run.
constexpr std::chrono::milliseconds kPieceLogPace{20};
// After a failure.
constexpr std::chrono::milliseconds kPieceLogRetry{500};
constexpr size_t kLoggedPieceBytesMax = 64 * 1024;

}  // namespace

PieceLog::PieceLog(state::Service& state, std::shared_ptr<const LiveRun> live,
                   std::string thread_id, std::string run_id)
    : state_(state),
      live_(std::move(live)),
      thread_id_(std::move(thread_id)),
      run_id_(std::move(run_id)) {}

void PieceLog::Write() {
  for (;;) {
    const LiveRun::View view = live_->Read(message_id_, reasoning_bytes_, text_bytes_);
    if (view.ended) return;
    if (view.partial && view.partial->message_id != message_id_) {
      message_id_ = view.partial->message_id;
      reasoning_bytes_ = text_bytes_ = 0;
    }
    const std::optional<state::AppendRunRequest> append = Next(view);
    if (!append) {
      (void)live_->Await(view.version, never_, kNoDeadline);
      continue;
    }
    const auto sent = MonotonicClock::now();
    const Status written = state_.AppendRun(*append).status();
    if (written.code() == StatusCode::kFenced || written.code() == StatusCode::kNotFound) return;
    if (written.ok()) {
      reasoning_bytes_ += CutAtCharacter(view.partial->reasoning, kLoggedPieceBytesMax).size();
      text_bytes_ += CutAtCharacter(view.partial->text, kLoggedPieceBytesMax).size();
    }
    (void)runtime::SleepUntil(sent + (written.ok() ? kPieceLogPace : kPieceLogRetry), nullptr);
  }
}

std::optional<state::AppendRunRequest> PieceLog::Next(const LiveRun::View& view) const {
  if (!view.partial || view.lease_epoch == 0) return std::nullopt;
  const LiveRun::Partial& partial = *view.partial;
  if (partial.text.empty() && partial.reasoning.empty()) return std::nullopt;
  entry::MessagePiece piece{
      .node = partial.node,
      .step = partial.step,
      .message_id = partial.message_id,
      .text_begin = static_cast<int64_t>(text_bytes_),
      .reasoning_begin = static_cast<int64_t>(reasoning_bytes_),
      .text = std::string(CutAtCharacter(partial.text, kLoggedPieceBytesMax)),
      .reasoning = std::string(CutAtCharacter(partial.reasoning, kLoggedPieceBytesMax))};
  state::AppendRunRequest append;
  append.thread_id = thread_id_;
  append.run_id = run_id_;
  append.lease_epoch = view.lease_epoch;
  append.entries.push_back(Encode(std::move(piece), UnixMicros()));
  return append;
}

}  // namespace agent_graph::run
