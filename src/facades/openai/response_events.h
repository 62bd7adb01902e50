// Writes the numbered events of a response as server-sent events: `event: TYPE`, `data: {…}` and an
// empty line each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "facades/run/flush_events.h"

namespace agent_graph::openai {

// Collects events until they are sent. Used by one fiber.
class ResponseEvents {
 public:
  // Events up to the number `after` are counted, but not written.
  explicit ResponseEvents(int64_t after) : after_(after) {}

  // False if the next event is only counted.
  bool WritesNext() const { return next_number_ > after_; }
  // `members` follow `type` and `sequence_number`; each begins with a comma.
  void Add(std::string_view type, std::string_view members);
  // An event with a piece of a text: the members `first`, `delta`, `last`.
  void AddDelta(std::string_view type, std::string_view first, std::string_view piece,
                std::string_view last);

  // Returns the collected events and forgets them.
  std::string Take() { return std::exchange(out_, {}); }

  // Passes the collected events to `send`, which returns a Status and may suspend.
  template <typename Send>
  Status Flush(const Send& send) {
    return facades::FlushEvents(out_, send);
  }

 private:
  // Returns false if the event is only counted.
  bool Begin(std::string_view type);

  const int64_t after_;
  int64_t next_number_ = 0;
  std::string out_;
};

}  // namespace agent_graph::openai
