#include "run/host/piece_publisher.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "runtime/runtime.h"

namespace agent_graph::run {
namespace {

// Least time between two pieces of a run.
constexpr std::chrono::milliseconds kPace{8};
// After a failure.
constexpr std::chrono::milliseconds kRetry{500};

}  // namespace

PiecePublisher::PiecePublisher(state::Service& state, std::shared_ptr<const LiveRun> live,
                               std::string thread_id, std::string run_id)
    : state_(state),
      live_(std::move(live)),
      thread_id_(std::move(thread_id)),
      run_id_(std::move(run_id)) {}

void PiecePublisher::Publish(const std::function<uint64_t()>& watch,
                             const std::function<bool(uint64_t watch)>& stops) {
  for (;;) {
    const LiveRun::View view = live_->Read(message_id_, reasoning_bytes_, text_bytes_);
    if (view.ended) return;
    const std::optional<state::PublishPieceRequest> piece = Next(view);
    if (!piece) {
      (void)live_->Await(view.version, never_, kNoDeadline);
      continue;
    }
    const uint64_t asked = watch();
    const auto sent = MonotonicClock::now();
    const Result<state::PublishPieceReply> reply = state_.PublishPiece(*piece);
    if (!reply.ok()) {
      (void)runtime::SleepUntil(sent + kRetry, nullptr);
      continue;
    }
    if (reply->watched) {
      Take(*reply);
    } else {
      message_id_.clear();
      reasoning_bytes_ = text_bytes_ = 0;
      if (stops(asked)) return;
    }
    (void)runtime::SleepUntil(sent + kPace, nullptr);
  }
}

std::optional<state::PublishPieceRequest> PiecePublisher::Next(const LiveRun::View& view) {
  state::PublishPieceRequest publish{
      .thread_id = thread_id_, .run_id = run_id_, .lease_epoch = view.lease_epoch, .piece = {}};
  if (!view.partial) {
    if (message_id_.empty()) return std::nullopt;
    message_id_.clear();
    reasoning_bytes_ = text_bytes_ = 0;
    return publish;
  }
  const LiveRun::Partial& partial = *view.partial;
  if (partial.message_id != message_id_) {
    message_id_ = partial.message_id;
    reasoning_bytes_ = text_bytes_ = 0;
    full_ = false;
  }
  if (full_ || (partial.text.empty() && partial.reasoning.empty())) return std::nullopt;
  state::MessagePiece& piece = publish.piece.emplace();
  piece.message_id = partial.message_id;
  piece.node = partial.node;
  piece.step = partial.step;
  piece.reasoning_begin = reasoning_bytes_;
  piece.text_begin = text_bytes_;
  piece.reasoning = CutAtCharacter(partial.reasoning, state::kPieceBytesMax);
  piece.text = CutAtCharacter(partial.text, state::kPieceBytesMax);
  return publish;
}

void PiecePublisher::Take(const state::PublishPieceReply& reply) {
  full_ = reply.full;
  reasoning_bytes_ = reply.reasoning_bytes;
  text_bytes_ = reply.text_bytes;
}

}  // namespace agent_graph::run
