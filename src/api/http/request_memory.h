// Estimates of the memory that handling a request takes, which cannot be measured while it grows.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "api/http/errors.h"
#include "api/http/page_reads.h"
#include "base/status.h"

namespace agent_graph::bridge {
class Exchange;
}
namespace agent_graph::settings {
struct LimitSettings;
}
namespace agent_graph::state {
class Service;
struct Scope;
struct ThreadState;
}  // namespace agent_graph::state

namespace agent_graph::api {

// Copies of a body while it is handled, in units of its JsonWeight: its text, the parsed tree, the
// messages made from it, and the parts that are written to the state or to a reply.
inline constexpr uint64_t kBodyCopies = 5;
// Copies of a run's thread: messages, JSON text, and the request of a model, which is built from
// one copy, kept as another and sent from a third. Not more than for a body, because the body of
// the request has then become a part of the thread. A reply that a model is sending is one text
// with room to grow.
inline constexpr uint64_t kThreadCopies = 5;
inline constexpr uint64_t kReplyCopies = 2;

// Copies of a state that is read: packed, as rows, and as JSON.
inline constexpr uint64_t kStateCopies = 3;

// Smaller bodies are not counted: a request without a body takes as much.
inline constexpr uint64_t kUncountedBodyBytes = 4 * 1024;

// How long a request waits for others to free memory.
inline constexpr std::chrono::seconds kMemoryWaitMax{30};

// Estimated memory of a run: see run::RunSink::OnHeld.
constexpr uint64_t RunMemory(uint64_t thread_bytes, uint64_t reply_bytes) {
  return kThreadCopies * thread_bytes + kReplyCopies * reply_bytes;
}

// Waits until the worker has room for a run with a thread of `thread_bytes`, and holds it. See
// run::RunSink::AwaitMemory.
Status AwaitRunMemory(bridge::Exchange& exchange, uint64_t thread_bytes);

// Waits until the worker has room for a run of this size, of which the exchange holds a part
// already, and holds it. See run::RunSink::AwaitHeld.
Status AwaitRunGrowth(bridge::Exchange& exchange, uint64_t thread_bytes, uint64_t reply_bytes);

// Waits until the worker has room for the text of a body of `bytes` that the event loop is to read.
Status AwaitInputMemory(bridge::Exchange& exchange, uint64_t bytes);

// Waits until the worker has room to handle a body of `bytes`, and holds it. Memory that the
// exchange holds already is a part of that. Returns the error to answer with.
std::optional<ErrorInfo> AwaitBodyMemory(bridge::Exchange& exchange, uint64_t bytes);

// Waits for a place among the requests that read stored data. Then waits until the worker has room
// for a page, and holds it, if the pages that are read at a time might exceed the bound together
// with what is buffered. So pages that clients do not read leave the last memory to small requests.
// The size of an answer is known only when it has been read, so a small page waits like a large
// one. Returns the error to answer with.
std::optional<ErrorInfo> EnterPageReads(bridge::Exchange& exchange, PageReads& reads,
                                        const settings::LimitSettings& limits,
                                        PageReads::Place& place);

// Reads a thread's state. If it is large, first waits until the worker has room for it, which the
// exchange then holds.
Result<state::ThreadState> ReadThreadState(bridge::Exchange& exchange, state::Service& state,
                                           const state::Scope& scope, const std::string& thread_id);

// Waits until the worker has room for a reply with the state of a thread, which may not exist.
Status AwaitStateMemory(bridge::Exchange& exchange, state::Service& state,
                        const state::Scope& scope, const std::string& thread_id);

}  // namespace agent_graph::api
