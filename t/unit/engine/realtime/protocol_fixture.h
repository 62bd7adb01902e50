// A protocol without a network: tests put in the provider's messages and get events and messages
// out.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "models/media.h"
#include "realtime/gemini.h"
#include "realtime/openai.h"
#include "realtime/protocol.h"

namespace agent_graph::realtime {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = Event::Kind;
using std::chrono::milliseconds;

inline models::ProviderOptions Options(const std::string& base_url) {
  models::ProviderOptions options;
  options.model = "model-1";
  options.base_url = base_url;
  options.api_key = "key";
  options.parameters_json = "{}";
  return options;
}

inline std::vector<json> Messages(Protocol& protocol) {
  std::vector<json> messages;
  for (const std::string& text : protocol.TakeMessages()) messages.push_back(json::parse(text));
  return messages;
}

inline std::vector<Event> Events(Protocol& protocol) {
  std::vector<Event> events(protocol.events().begin(), protocol.events().end());
  protocol.events().clear();
  return events;
}

inline std::vector<Kind> Kinds(Protocol& protocol) {
  std::vector<Kind> kinds;
  for (const Event& event : Events(protocol)) kinds.push_back(event.kind);
  return kinds;
}

class OpenAiTest : public testing::Test {
 protected:
  void Begin(LinkConfig config = {}) {
    protocol_ = OpenAiDialect().make(Options("https://api.openai.com/v1"), config);
    protocol_->Begin(config);
    protocol_->OnOpen();
    Receive({{"type", "session.created"}});
    session_ = Messages(*protocol_)[0]["session"];
    Receive({{"type", "session.updated"}});
  }
  void BeginReady(LinkConfig config = {}) {
    Begin(std::move(config));
    (void)Messages(*protocol_);
    (void)Events(*protocol_);
  }
  void Receive(const json& message) { protocol_->OnMessage(message.dump()); }
  void BeginResponse(const std::string& id = "r1") {
    Receive({{"type", "response.created"}, {"response", {{"id", id}}}});
  }
  void EndResponse(const std::string& id = "r1", const std::string& status = "completed") {
    Receive({{"type", "response.done"}, {"response", {{"id", id}, {"status", status}}}});
  }
  // The provider rejects a response, because another one is in progress.
  void Refuse() {
    Receive({{"type", "error"}, {"error", {{"code", "conversation_already_has_active_response"}}}});
  }
  std::vector<std::string> Sent() {
    std::vector<std::string> types;
    for (const json& message : Messages(*protocol_)) types.push_back(message["type"]);
    return types;
  }

  std::unique_ptr<Protocol> protocol_;
  json session_;
};

class GeminiTest : public testing::Test {
 protected:
  void Begin(const LinkConfig& config = {}) {
    protocol_ =
        GeminiDialect().make(Options("https://generativelanguage.googleapis.com/v1beta"), config);
    protocol_->Begin(config);
    protocol_->OnOpen();
    setup_ = Messages(*protocol_)[0]["setup"];
  }
  void BeginReady(const LinkConfig& config = {}) {
    Begin(config);
    Receive({{"setupComplete", json::object()}});
    (void)Events(*protocol_);
  }
  void Receive(const json& message) { protocol_->OnMessage(message.dump()); }
  void Say(const std::string& words) {
    Receive({{"serverContent", {{"outputTranscription", {{"text", words}}}}}});
  }
  // One of serverContent's flags: "interrupted", "generationComplete", "turnComplete".
  void Sign(const char* name) { Receive({{"serverContent", {{name, true}}}}); }

  std::unique_ptr<Protocol> protocol_;
  json setup_;
};

}  // namespace agent_graph::realtime
