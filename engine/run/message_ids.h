// Ids of the messages that enter a thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "agent_graph/message.h"
#include "base/id_generator.h"

namespace agent_graph::run {

// Keeps ids unique within a thread, so that no message is lost to another's id: one without an id,
// or with an id that is taken, too long or that no path can name, gets a fresh one. Sets a missing
// timestamp, too.
class MessageIds {
 public:
  // Asked about an id a client chose that is not in the working window: is it in the history?
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
