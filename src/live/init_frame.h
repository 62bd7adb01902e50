// The first frame of a session: values with which the client overrides the compiled agent.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/live_agent.h"
#include "base/status.h"
#include "bridge/exchange.h"

namespace agent_graph::live {

// A member that is not set, or null, keeps the agent's value.
struct InitFrame {
  std::string thread_id;  // empty: a new thread
  std::string model;
  std::string voice;
  std::optional<Modality> modality;
  std::optional<std::string> system_prompt;
  std::optional<std::vector<std::string>> tools_tags;
  VoiceActivity vad;
  std::string resumption_handle;

  size_t bytes() const;
};

// kInvalidArgument, with a text for the client: the frame is not a JSON object, or a value is not
// usable. Unknown keys are ignored.
Result<InitFrame> ReadInitFrame(const bridge::SocketMessage& message);

}  // namespace agent_graph::live
