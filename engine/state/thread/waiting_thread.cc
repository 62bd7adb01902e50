#include "state/thread/waiting_thread.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "state/limits.h"
#include "state/rows/keys.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {
namespace {

constexpr size_t kCallsMax = 128;
// Maximum number of threads that wait for one call id. Models that number their calls may cause
// more; then the id identifies no thread.
constexpr size_t kThreadsMax = 64;

using Threads = std::set<std::string>;

// Returns nullopt if there are too many.
Result<std::optional<Threads>> ThreadsWaitingFor(const DatabaseSnapshot& snapshot,
                                                 const Scope& scope, const std::string& call_id) {
  const std::string prefix = scope.kind == Scope::Kind::kOwner
                                 ? keys::WaitingCallPrefix(call_id, scope.user_id)
                                 : keys::WaitingCallPrefix(call_id);
  Threads threads;
  AG_RETURN_IF_ERROR(
      snapshot.Scan(prefix, keys::PrefixEnd(prefix), [&](std::string_view key, std::string_view) {
        keys::Parser parser(key, keys::Table::kWaitingCall);
        parser.Text();
        parser.Text();
        threads.insert(parser.Text());
        return threads.size() <= kThreadsMax;
      }));
  if (threads.size() > kThreadsMax) return std::optional<Threads>();
  return std::optional<Threads>(std::move(threads));
}

Threads InBoth(const Threads& one, const Threads& other) {
  Threads both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                        std::inserter(both, both.end()));
  return both;
}

}  // namespace

Result<WaitingThread> FindWaitingThread(const DatabaseSnapshot& snapshot,
                                        const WaitingThreadQuery& query) {
  const Status none(StatusCode::kNotFound, "no single thread waits for these results");
  // A thread without an owner belongs to no user.
  if (query.scope.kind == Scope::Kind::kOwner && query.scope.user_id.empty()) return none;
  if (query.call_ids.size() > kCallsMax) return none;
  std::optional<Threads> threads;
  for (const std::string& call_id : query.call_ids) {
    if (call_id.size() > kIdBytesMax) return none;
    AG_ASSIGN_OR_RETURN(const std::optional<Threads> waiting,
                        ThreadsWaitingFor(snapshot, query.scope, call_id));
    if (!waiting) continue;
    threads = threads ? InBoth(*threads, *waiting) : *waiting;
  }
  if (!threads || threads->size() != 1) return none;
  WaitingThread found{*threads->begin()};
  AG_RETURN_IF_ERROR(ReadThread(snapshot, query.scope, found.thread_id).status());
  return found;
}

}  // namespace agent_graph::state
