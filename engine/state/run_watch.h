// Reading the message that a run is producing, from another client than the run's. Plain data.
//
// Pieces of a message are never stored. The client that executes the run sends them only while
// other clients watch it: the first WatchRun makes the state send it RunWatched. Then it publishes
// the message so far and what follows, and the state keeps that for the watchers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "state/pack/fields.h"
#include "state/types.h"

namespace agent_graph::state {

// Size limits, in bytes: of one piece; of a message that is kept; of all of them. A larger message,
// or one that finds no room, is not kept: watchers get it when it is stored.
inline constexpr size_t kPieceBytesMax = 256 * 1024;
inline constexpr size_t kWatchedMessageBytesMax = 8 * 1024 * 1024;
inline constexpr size_t kWatchedBytesMax = 64 * 1024 * 1024;

// A part of a message that is not stored yet.
struct MessagePiece {
  std::string message_id;
  std::string node;
  int64_t step = 0;
  // Offsets in bytes at which the texts begin in the message.
  uint64_t reasoning_begin = 0;
  uint64_t text_begin = 0;
  std::string reasoning;
  std::string text;
};
template <pack::SameAs<MessagePiece> T>
auto Fields(T& s) {
  return std::tie(s.message_id, s.node, s.step, s.reasoning_begin, s.text_begin, s.reasoning,
                  s.text);
}

// Waits, for up to `wait_ms` (see kFollowWaitMsMax), until the run has more than the caller names.
// kNotFound: no such run in the scope, or the thread's number is another one.
struct WatchRunRequest {
  Scope scope;
  std::string thread_id;
  uint64_t thread_number = 0;
  std::string run_id;
  // The part that the caller knows.
  uint64_t lease_epoch = 0;
  uint64_t log_end = 0;
  std::string message_id;
  uint64_t reasoning_bytes = 0;
  uint64_t text_bytes = 0;
  int64_t wait_ms = 0;
};
template <pack::SameAs<WatchRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.thread_number, s.run_id, s.lease_epoch, s.log_end,
                  s.message_id, s.reasoning_bytes, s.text_bytes, s.wait_ms);
}

struct WatchRunReply {
  uint64_t lease_epoch = 0;  // epoch of the latest attempt; 0: the run has not started
  uint64_t log_end = 0;      // index after the newest entry of the thread's log; 0: not started
  bool ended = false;
  // The message in progress, from the end of the caller's part on. The texts are empty if the
  // caller has everything. nullopt: no message is known.
  std::optional<MessagePiece> piece;
};
template <pack::SameAs<WatchRunReply> T>
auto Fields(T& s) {
  return std::tie(s.lease_epoch, s.log_end, s.ended, s.piece);
}

// Sent to the client that executes a run: others watch it. `watch` numbers the requests to publish.
struct RunWatched {
  std::string thread_id;
  std::string run_id;
  uint64_t watch = 0;
};
template <pack::SameAs<RunWatched> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id, s.watch);
}

// Publishes a piece of the message in progress; nullopt: none is in progress any more. A client has
// one such request of a run in flight.
struct PublishPieceRequest {
  std::string thread_id;
  std::string run_id;
  uint64_t lease_epoch = 0;
  std::optional<MessagePiece> piece;
};
template <pack::SameAs<PublishPieceRequest> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id, s.lease_epoch, s.piece);
}

struct PublishPieceReply {
  bool watched = false;  // false: the run has no watcher, so nothing was kept
  bool full = false;     // this message is too large to be kept
  // Size of the kept part of the message. A piece that does not begin at its end was ignored.
  uint64_t reasoning_bytes = 0;
  uint64_t text_bytes = 0;
};
template <pack::SameAs<PublishPieceReply> T>
auto Fields(T& s) {
  return std::tie(s.watched, s.full, s.reasoning_bytes, s.text_bytes);
}

}  // namespace agent_graph::state
