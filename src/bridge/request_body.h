// The body of a request on its way from the event loop to the engine: whole, or in pieces.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "bridge/request.h"
#include "bridge/worker_memory.h"
#include "runtime/cancellation.h"
#include "runtime/signal.h"

namespace agent_graph::bridge {

// Maximum bytes that the loop holds of a body that is taken in pieces.
inline constexpr uint64_t kBodyWindowBytes = 128 * 1024;

// Part of an exchange. The methods of the loop never block and never fail; those of the engine may
// suspend the calling fiber.
class RequestBody {
 public:
  // Asks the loop to read the body, or `bytes` more of it. Called by the engine side.
  using Ask = std::function<void(uint64_t bytes)>;

  // `memory` and `cancellation` must outlive the body.
  RequestBody(WorkerMemory& memory, const runtime::Cancellation& cancellation, Ask ask)
      : memory_(memory), cancellation_(cancellation), ask_(std::move(ask)) {}
  ~RequestBody();
  RequestBody(const RequestBody&) = delete;
  RequestBody& operator=(const RequestBody&) = delete;

  // --- Loop side ---
  // Delivers the whole body, before Submit or after it was asked for. A second call is ignored.
  void Deliver(Body body);
  // Delivers a piece of a body that is taken in pieces. `last` marks the final piece, which may be
  // empty.
  void DeliverPiece(std::string bytes, bool last);
  // Reports that the body will not arrive (client gone, body too large): Take and TakePiece fail
  // with `status`.
  void Fail(Status status);

  // --- Engine side (one fiber at a time) ---
  // Asks for the body if it has not arrived, and waits for it. May be called once. If the body is
  // in a file, the caller reads it on the io pool and closes the descriptor as soon as it has been
  // read.
  Result<Body> Take(Deadline deadline);
  // Returns the next piece of a body that is not kept whole; empty at its end. The loop reads as
  // fast as pieces are taken and holds at most kBodyWindowBytes more. A piece that has arrived like
  // this counts as buffered until the next call. Call it on a fiber.
  Result<std::string> TakePiece(Deadline deadline);
  // Call when the exchange counts the taken body, and the objects made from it, as held. The body
  // also continues to count as buffered.
  void CountedAsHeld();

 private:
  void ReleasePiece();
  Result<std::string> TakeStoredPiece(Body& body);
  void CountElsewhere() AG_REQUIRES(mutex_);

  WorkerMemory& memory_;
  const runtime::Cancellation& cancellation_;
  const Ask ask_;

  Mutex mutex_;
  bool present_ AG_GUARDED_BY(mutex_) = false;  // delivered whole, or failed
  bool taken_ AG_GUARDED_BY(mutex_) = false;
  Body whole_ AG_GUARDED_BY(mutex_);
  Status failure_ AG_GUARDED_BY(mutex_);
  std::deque<std::string> pieces_ AG_GUARDED_BY(mutex_);
  bool complete_ AG_GUARDED_BY(mutex_) = false;        // the last piece has come
  int64_t bytes_ AG_GUARDED_BY(mutex_) = 0;            // counted as buffered
  int64_t bytes_elsewhere_ AG_GUARDED_BY(mutex_) = 0;  // the part of these that is not in memory
  runtime::Signal signal_;

  // Engine side only. While pieces arrive: bytes taken since the loop was last asked for more. For
  // a whole body: the offset of the next piece.
  uint64_t taken_bytes_ = 0;
  int64_t piece_bytes_ = 0;  // of the piece taken last; a part of bytes_
  bool asked_ = false;
};

}  // namespace agent_graph::bridge
