// Replies, messages and log lines that the executor sends after a commit of the store.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "state/calls/executor.h"
#include "state/options.h"
#include "state/rows/rows.h"
#include "state/store/lease.h"

namespace agent_graph::state {

struct StoreReply {
  ReplyAddress to;
  Status status = {};
  ReplyRow reply = {};
  // True: only reports that the run is queued. The reply follows when the thread is free.
  bool queued = false;
  // True: acknowledges no change that has to be on the disk first.
  bool before_sync = false;
};

// An unsolicited message to send on a client's connection after the commit.
struct StoreNotice {
  uint64_t connection = 0;
  ClientMessage message;
};

// A line for the operator's log.
struct StoreReport {
  LogLevel level = LogLevel::kNotice;
  std::string text;
};

}  // namespace agent_graph::state
