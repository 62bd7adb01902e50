#include "state/calls/executor.h"

#include <algorithm>
#include <utility>

namespace agent_graph::state {

void ClientConnection::Send(ClientMessage message) {
  std::vector<ClientMessage> messages;
  messages.push_back(std::move(message));
  SendAll(std::move(messages));
}

bool ClientHello::Holds(const std::string& thread_id, const std::string& run_id,
                        uint64_t lease_epoch) const {
  if (run_ids) return std::ranges::find(*run_ids, run_id) != run_ids->end();
  return std::ranges::any_of(held, [&](const HeldRun& run) {
    return run.thread_id == thread_id && run.run_id == run_id &&
           (run.lease_epoch == 0 || run.lease_epoch == lease_epoch);
  });
}

Reply RefusedWrite(uint64_t sequence) {
  return {sequence, Status(StatusCode::kUnavailable, "the state database refuses writes"), {}};
}

std::string NotAvailable(const std::string& directory, const char* use, const Status& status) {
  std::string text = "state of " + directory + " is not available" + use + ": " + status.ToString();
  if (status.code() == StatusCode::kDataLoss) {
    text += " (\"agent-graph-admin repair " + directory +
            "\", while nginx is stopped, keeps what can be read)";
  }
  return text;
}

}  // namespace agent_graph::state
