#include "state/calls/executor.h"

#include <utility>

namespace agent_graph::state {

void ClientConnection::Send(ClientMessage message) {
  std::vector<ClientMessage> messages;
  messages.push_back(std::move(message));
  SendAll(std::move(messages));
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
