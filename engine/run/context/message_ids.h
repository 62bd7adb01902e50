// Assigns ids to the messages that enter a thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "agent_graph/message.h"
#include "base/id_generator.h"

namespace agent_graph::run {

// Keeps message ids unique within a thread, so that no message replaces another. A message gets a
// new id if it has none, or one that is taken, too long or not usable in a URL path. Also sets a
// missing timestamp. Not thread-safe.
class MessageIds {
 public:
  // Returns true if the history has the id. Called for ids that a client chose and that are not in
  // the working window.
  using Lookup = std::function<bool(const std::string& id)>;

  explicit MessageIds(const IdGenerator& generator, Lookup in_history = {})
      : generator_(generator), in_history_(std::move(in_history)) {}

  void Reserve(std::string id) { taken_.insert(std::move(id)); }
  bool IsTaken(const std::string& id) const { return taken_.contains(id); }

  void Assign(Message& message);

 private:
  const IdGenerator& generator_;
  Lookup in_history_;
  std::unordered_set<std::string> taken_;
};

}  // namespace agent_graph::run
