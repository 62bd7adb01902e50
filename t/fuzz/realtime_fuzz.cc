// Arbitrary messages of realtime providers, one per line, with inputs of a client between them:
// reading must be safe, each message to the provider must be valid JSON, calls of tools must be
// ones that can be executed, and audio must have whole samples.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json.h"
#include "realtime/gemini.h"
#include "realtime/openai.h"

namespace agent_graph::realtime {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void CheckEvents(Protocol& protocol) {
  for (const Event& event : protocol.events()) {
    Require(event.kind != Event::Kind::kAudio || event.text.size() % 2 == 0);
    for (const ToolCall& call : event.calls) {
      Require(json::parse(call.arguments_json, nullptr, false).is_object());
    }
  }
  protocol.events().clear();
  for (const std::string& message : protocol.TakeMessages()) {
    Require(json::parse(message, nullptr, false).is_object());
  }
}

// A client that does something else after each message of the provider.
void Act(Protocol& protocol, size_t step) {
  switch (step % 8) {
    case 1:
      return protocol.SendAudio(std::string(320, '\1'));
    case 2:
      return static_cast<void>(protocol.SendActivity(true));
    case 3:
      return static_cast<void>(protocol.SendActivity(false));
    case 4:
      return protocol.SendText("and?");
    case 5:
      return protocol.SendToolReplies({{.id = "c", .name = "clock", .output_json = "12"}});
    case 6:
      return protocol.Truncate(std::chrono::milliseconds(40));
    case 7:
      return protocol.EndAudio();
    default:
      return;
  }
}

void Talk(const Dialect& dialect, std::string_view text, bool detects) {
  models::ProviderOptions options;
  options.model = "model-1";
  LinkConfig config;
  config.vad.enabled = detects;
  config.history = {Message::User("before")};
  const auto protocol = dialect.make(options, config);
  protocol->Begin(config);
  protocol->OnOpen();
  for (size_t step = 0; !text.empty(); ++step) {
    const size_t end = text.find('\n');
    protocol->OnMessage(text.substr(0, end));
    CheckEvents(*protocol);
    Act(*protocol, step);
    CheckEvents(*protocol);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool detects : {true, false}) {
    Talk(OpenAiDialect(), text, detects);
    Talk(GeminiDialect(), text, detects);
  }
  return 0;
}

}  // namespace agent_graph::realtime
