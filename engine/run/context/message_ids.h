// Assigns ids to the messages that enter a thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "agent_graph/message.h"
#include "base/id_generator.h"
#include "base/status.h"

namespace agent_graph::run {

// Keeps message ids unique within a thread, so that no message replaces another. A message gets a
// new id if it has none, or one that is taken, too long or not usable in a URL path. Also sets a
// missing timestamp. Not thread-safe.
class MessageIds {
 public:
  // Returns true if the history has the id. Called for ids that are not in the working window.
  // Fails if the state does not answer.
  using Lookup = std::function<Result<bool>(const std::string& id)>;

  explicit MessageIds(const IdGenerator& generator, Lookup in_history = {})
      : generator_(generator), in_history_(std::move(in_history)) {}

  void Reserve(std::string id) { taken_.insert(std::move(id)); }
  bool IsTaken(const std::string& id) const { return taken_.contains(id); }

  // Call with an id that the engine has generated for a message, of which readers may get pieces:
  // it is not looked up, so the message keeps it even if the state does not answer.
  void Announce(std::string id) { announced_.insert(std::move(id)); }
  bool IsAnnounced(const std::string& id) const { return announced_.contains(id); }

  // If the state does not answer, the message gets a new id.
  void Assign(Message& message);
  // The same for a message of the request, which is recognized by its id later: fails if the state
  // does not answer.
  Status AssignToRequested(Message& message);

 private:
  // Looks the id up only if nothing else is known about it.
  Result<bool> IsInHistory(const Message& message) const;
  void Assign(bool is_in_history, Message& message);

  const IdGenerator& generator_;
  Lookup in_history_;
  std::unordered_set<std::string> taken_;
  std::unordered_set<std::string> announced_;  // and not assigned yet
};

}  // namespace agent_graph::run
