#include "state/follow/run_watches.h"

#include <algorithm>

#include "base/free_memory.h"
#include "base/text.h"
#include "state/lease_epoch.h"

namespace agent_graph::state {
namespace {

size_t BytesOf(const MessagePiece& piece) {
  return piece.reasoning.size() + piece.text.size();
}

}  // namespace

std::optional<uint64_t> RunWatches::Join(const Key& run, uint64_t lease_epoch, Deadline until) {
  MutexLock lock(mutex_);
  const auto [place, is_new] = watches_.try_emplace(run);
  Watch& watch = place->second;
  if (is_new) {
    watch.number = ++next_watch_;
    ++count_;
  }
  watch.until = is_new ? until : std::max(watch.until, until);
  const bool is_of_new_thread = AreOfTwoThreads(lease_epoch, watch.lease_epoch);
  if (is_of_new_thread) watch.notified_epoch = 0;
  if (is_of_new_thread || lease_epoch > watch.lease_epoch) {
    Drop(watch);
    watch.lease_epoch = lease_epoch;
  }
  if (lease_epoch == 0 || watch.notified_epoch >= lease_epoch) return std::nullopt;
  watch.notified_epoch = lease_epoch;
  return watch.number;
}

std::vector<std::pair<RunWatches::Key, uint64_t>> RunWatches::All() const {
  std::vector<std::pair<Key, uint64_t>> all;
  MutexLock lock(mutex_);
  all.reserve(watches_.size());
  for (const auto& [run, watch] : watches_) all.emplace_back(run, watch.number);
  return all;
}

RunWatches::Known RunWatches::KnownOf(const Key& run, const Watch& watch) {
  return {run, watch.lease_epoch, watch.message.message_id, watch.message.reasoning.size(),
          watch.message.text.size()};
}

std::vector<RunWatches::Known> RunWatches::AllKnown() const {
  std::vector<Known> all;
  MutexLock lock(mutex_);
  all.reserve(watches_.size());
  for (const auto& [run, watch] : watches_) all.push_back(KnownOf(run, watch));
  return all;
}

std::optional<RunWatches::Known> RunWatches::KnownOf(const Key& run) const {
  MutexLock lock(mutex_);
  const auto found = watches_.find(run);
  if (found == watches_.end()) return std::nullopt;
  return KnownOf(run, found->second);
}

void RunWatches::Drop(Watch& watch) {
  bytes_ -= BytesOf(watch.message);
  FreeMemory(watch.message);
  watch.full = false;
}

PublishPieceReply RunWatches::Publish(const PublishPieceRequest& request) {
  MutexLock lock(mutex_);
  const auto found = watches_.find({request.thread_id, request.run_id});
  // An attempt whose lease is outdated gets the answer that no client watches, so it stops
  // publishing.
  if (found == watches_.end() || request.lease_epoch < found->second.lease_epoch) return {};
  Watch& watch = found->second;
  if (AreOfTwoThreads(request.lease_epoch, watch.lease_epoch)) return {};
  if (watch.lease_epoch < request.lease_epoch) {
    Drop(watch);
    watch.lease_epoch = request.lease_epoch;
  }
  PublishPieceReply reply{.watched = true};
  if (!request.piece) {
    Drop(watch);
    return reply;
  }
  const MessagePiece& piece = *request.piece;
  if (watch.message.message_id != piece.message_id) {
    Drop(watch);
    watch.message.message_id = piece.message_id;
    watch.message.node = piece.node;
    watch.message.step = piece.step;
  }
  MessagePiece& kept = watch.message;
  const bool follows =
      piece.reasoning_begin == kept.reasoning.size() && piece.text_begin == kept.text.size();
  const size_t bytes = BytesOf(piece);
  if (follows && !watch.full) {
    if (BytesOf(kept) + bytes > kWatchedMessageBytesMax || bytes_ + bytes > kWatchedBytesMax) {
      bytes_ -= BytesOf(kept);
      FreeMemory(kept.reasoning);
      FreeMemory(kept.text);
      watch.full = true;
    } else {
      bytes_ += bytes;
      kept.reasoning += piece.reasoning;
      kept.text += piece.text;
    }
  }
  reply.full = watch.full;
  reply.reasoning_bytes = kept.reasoning.size();
  reply.text_bytes = kept.text.size();
  return reply;
}

std::optional<RunWatches::Kept> RunWatches::Find(const WatchRunRequest& watch) const {
  MutexLock lock(mutex_);
  const auto found = watches_.find({watch.thread_id, watch.run_id});
  if (found == watches_.end()) return std::nullopt;
  const MessagePiece& message = found->second.message;
  if (message.message_id.empty() || found->second.full) return std::nullopt;
  Kept kept{.lease_epoch = found->second.lease_epoch, .piece = {}};
  MessagePiece& piece = kept.piece;
  piece.message_id = message.message_id;
  piece.node = message.node;
  piece.step = message.step;
  if (message.message_id == watch.message_id) {
    piece.reasoning_begin = std::min<uint64_t>(watch.reasoning_bytes, message.reasoning.size());
    piece.text_begin = std::min<uint64_t>(watch.text_bytes, message.text.size());
  }
  piece.reasoning = CutAtCharacter(
      std::string_view(message.reasoning).substr(piece.reasoning_begin), kPieceBytesMax);
  piece.text =
      CutAtCharacter(std::string_view(message.text).substr(piece.text_begin), kPieceBytesMax);
  return kept;
}

void RunWatches::NoteChanged(const std::vector<std::string>& thread_ids) {
  MutexLock lock(mutex_);
  for (const std::string& thread_id : thread_ids) {
    auto watch = watches_.lower_bound({thread_id, ""});
    for (; watch != watches_.end() && watch->first.first == thread_id; ++watch) {
      ++watch->second.changes;
    }
  }
}

uint64_t RunWatches::ChangesOf(const Key& run) const {
  MutexLock lock(mutex_);
  const auto found = watches_.find(run);
  return found == watches_.end() ? 0 : found->second.changes;
}

void RunWatches::NoteRead(const Key& run, uint64_t changes, const WatchRunReply& reply) {
  MutexLock lock(mutex_);
  const auto found = watches_.find(run);
  if (found == watches_.end() || found->second.lease_epoch != reply.lease_epoch) return;
  found->second.changes_at_read = changes;
  found->second.log_end = reply.log_end;
}

std::optional<WatchRunReply> RunWatches::Continue(const WatchRunRequest& watch) const {
  {
    MutexLock lock(mutex_);
    const auto found = watches_.find({watch.thread_id, watch.run_id});
    if (found == watches_.end()) return std::nullopt;
    const Watch& known = found->second;
    const bool is_next = known.changes_at_read == known.changes &&
                         known.lease_epoch == watch.lease_epoch && known.log_end == watch.log_end &&
                         known.message.message_id == watch.message_id;
    if (!is_next) return std::nullopt;
  }
  std::optional<Kept> kept = Find(watch);
  const bool has_more = kept && kept->lease_epoch == watch.lease_epoch &&
                        kept->piece.message_id == watch.message_id &&
                        (!kept->piece.text.empty() || !kept->piece.reasoning.empty());
  if (!has_more) return std::nullopt;
  return WatchRunReply{.lease_epoch = watch.lease_epoch,
                       .log_end = watch.log_end,
                       .ended = false,
                       .piece = std::move(kept->piece)};
}

void RunWatches::Expire(MonotonicClock::time_point now) {
  MutexLock lock(mutex_);
  for (auto watch = watches_.begin(); watch != watches_.end();) {
    if (watch->second.until > now) {
      ++watch;
      continue;
    }
    Drop(watch->second);
    watch = watches_.erase(watch);
    --count_;
  }
}

size_t RunWatches::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace agent_graph::state
