// A client that watches the run "r" of the thread "t", and the pieces that the run's worker
// publishes.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "requests.h"
#include "state/run_watch.h"

namespace agent_graph::state {

struct RunObserver {
  WatchRunRequest known;
  std::string text;  // of the message in progress, as far as it was seen

  void Follow(uint64_t thread_number) {
    known.thread_id = "t";
    known.run_id = "r";
    known.thread_number = thread_number;
  }

  // Waits until `service` knows more than was seen before, and takes note of it.
  WatchRunReply Next(Service& service, int64_t wait_ms) {
    known.wait_ms = wait_ms;
    const Result<WatchRunReply> reply = service.WatchRun(known, nullptr);
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    if (!reply.ok()) return {};
    known.lease_epoch = reply->lease_epoch;
    known.log_end = reply->log_end;
    if (reply->piece) {
      if (known.message_id != reply->piece->message_id) text.clear();
      EXPECT_EQ(reply->piece->text_begin, text.size());
      text += reply->piece->text;
      known.message_id = reply->piece->message_id;
      known.text_bytes = text.size();
    }
    return *reply;
  }
};

// Publishes a piece of a message's text; an empty reply if that fails.
inline PublishPieceReply PublishText(Service& worker, uint64_t lease_epoch,
                                     const std::string& message_id, const std::string& text,
                                     uint64_t begin) {
  PublishPieceRequest publish{
      .thread_id = "t", .run_id = "r", .lease_epoch = lease_epoch, .piece = {}};
  publish.piece = MessagePiece{.message_id = message_id,
                               .node = "MAIN",
                               .step = 1,
                               .reasoning_begin = 0,
                               .text_begin = begin,
                               .reasoning = {},
                               .text = text};
  const Result<PublishPieceReply> reply = worker.PublishPiece(publish);
  EXPECT_TRUE(reply.ok()) << reply.status().ToString();
  return reply.ok() ? *reply : PublishPieceReply();
}

}  // namespace agent_graph::state
