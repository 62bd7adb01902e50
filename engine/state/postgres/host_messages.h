// The messages between hosts. A host sends what its readers wait for, so that their host need not
// poll the database. Plain data. Messages may be lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "state/pack/fields.h"
#include "state/run_watch.h"

namespace agent_graph::state::postgres {

// Sent about once a second to the host that executes runs of a thread, while clients of the sender
// read these runs. The receiver reports changes and pieces for a few seconds.
struct ReadersMessage {
  std::string thread_id;
  std::string run_id;  // the run whose pieces the sender wants; empty: none
  uint64_t lease_epoch = 0;
  // The part of the message in progress that the sender has. The receiver sends what is missing.
  std::string message_id;
  uint64_t reasoning_bytes = 0;
  uint64_t text_bytes = 0;
};
template <pack::SameAs<ReadersMessage> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id, s.lease_epoch, s.message_id, s.reasoning_bytes,
                  s.text_bytes);
}

// The runs of a thread, or its log, have changed.
struct ChangedMessage {
  std::string thread_id;
};
template <pack::SameAs<ChangedMessage> T>
auto Fields(T& s) {
  return std::tie(s.thread_id);
}

// Exactly one of the optional members is set.
struct HostMessage {
  std::string sender;  // instance
  std::optional<ReadersMessage> readers = {};
  std::optional<ChangedMessage> changed = {};
  std::optional<PublishPieceRequest> piece = {};
};
template <pack::SameAs<HostMessage> T>
auto Fields(T& s) {
  return std::tie(s.sender, s.readers, s.changed, s.piece);
}

}  // namespace agent_graph::state::postgres
