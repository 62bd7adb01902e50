// Converts a run to a response: numbered events, and the response object that they build.
//
// The events depend only on the input of the reader. A run whose pieces are logged
// (RunRequest::log_pieces) gives every reader the same input. So a client that reconnects finds
// each event under the same number, in any worker, also after the worker that produced it has died.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "api/http/errors.h"
#include "facades/openai/object_ids.h"
#include "facades/openai/response_events.h"
#include "facades/openai/response_object.h"
#include "facades/run/step_reader.h"
#include "settings/settings.h"

namespace agent_graph::openai {

// The value of `include` with which reasoning has its encrypted content.
inline constexpr std::string_view kEncryptedContent = "reasoning.encrypted_content";

struct ResponseReaderOptions {
  using ShowTools = settings::OpenAiSettings::ShowTools;

  std::string model;
  // RunRequest::note_json if it is known; else it comes from the run's log.
  std::string note_json;
  ShowTools show_tools = ShowTools::kHidden;
  // Reasoning gets its encrypted content, also if the request of the run did not ask for it. Only
  // for an object: the events of a response are those that its request asked for.
  bool with_encrypted_content = false;
  // Events up to this number are not sent; -1: all are.
  int64_t after = -1;
  // Receives events as they go over the wire. Empty: only the object is wanted.
  std::function<Status(std::string_view events)> send;
  std::function<Status()> send_comment;
  // Called with the number of bytes that the reader holds, after it has grown a lot. May be empty.
  std::function<void(uint64_t bytes)> hold;
  // Called when the run is known, with the response's id.
  std::function<void(const ResponseObject& response)> on_start;
};

class ResponseReader final : public facades::StepReader {
 public:
  explicit ResponseReader(ResponseReaderOptions options);

  Status OnStart(const run::RunStart& start, const state::RunRecord* record) override;
  Status OnNote(std::string_view note_json, const api::EventPlace& place) override;
  Status OnError(const api::RunError& error, const api::EventPlace& place) override;
  Status OnEnd(const api::RunEnd& end, const api::EventPlace& place) override;
  Status OnIdle() override;

  // Returns the event for a stream that ends before the run does. It has the next number.
  std::string ErrorEvent(const api::ErrorInfo& error);

  // The response as far as the run has come.
  const ResponseObject& response() const { return response_; }
  // The error that ended the run.
  const std::optional<api::ErrorInfo>& error() const { return error_; }
  // True after OnEnd.
  bool ended() const { return ended_; }

 private:
  // An item that is being sent.
  struct OpenItem {
    std::string id = {};
    size_t index = 0;
    std::string place = {};  // members of its events that say where it is
    std::string text = {};
  };
  // The items of a message that is being sent.
  struct OpenMessage {
    std::string message_id;
    std::optional<OpenItem> reasoning = {};
    std::optional<OpenItem> text = {};
    size_t reasoning_items = 0;
    size_t text_items = 0;
  };

  Status OnMessageStarted(const facades::MessageHead& head, const api::EventPlace& place) override;
  Status OnText(const facades::MessageHead& head, std::string_view text,
                const api::EventPlace& place) override;
  Status OnReasoning(const facades::MessageHead& head, std::string_view text,
                     const api::EventPlace& place) override;
  Status OnToolCall(const facades::MessageHead& head, const ToolCallBlock& call,
                    const api::EventPlace& place) override;
  Status OnMessageFinished(const facades::MessageHead& head, const Message& message,
                           const api::EventPlace& place) override;
  Status OnToolResult(const facades::MessageHead& head, const ToolResultBlock& result,
                      const api::EventPlace& place) override;
  Status OnMessageVoid(const facades::MessageHead& head, uint32_t attempt) override;

  void Announce();
  void Begin();
  void ShowTool(OpenMessage& message, const std::string& line);
  OpenMessage& MessageOf(const std::string& message_id);
  void AddText(OpenMessage& message, std::string_view text);
  void AddReasoning(OpenMessage& message, std::string_view text);
  void OpenText(OpenMessage& message);
  void OpenReasoning(OpenMessage& message);
  // `status`: of the item, completed or incomplete. Void items are not part of the output.
  void CloseText(OpenMessage& message, std::string_view status, bool is_void = false);
  void CloseReasoning(OpenMessage& message, std::string_view status,
                      std::string_view encrypted = {}, bool is_void = false);
  void CloseAll(std::string_view status);
  void SendCall(const facades::MessageHead& head, const ToolCallBlock& call);
  // `part`: the member that names the part of the item to which its text belongs, or empty.
  OpenItem NewItem(std::string id, std::string_view part) const;
  // `earlier`: items of this kind that the message had before.
  std::string NewItemId(ItemKind kind, const std::string& message_id, size_t earlier) const;
  void AddObjectEvent(std::string_view type);
  void AddItemEvent(std::string_view type, size_t index, std::string_view item);
  void AddPartEvent(std::string_view type, const OpenItem& item, std::string_view members);
  void CountHeld(size_t more);
  Status Flush();
  void ReadToolNames(const json& note);
  void RemoveWaiting(const std::string& call_id);

  // A call of one of the client's tools that has no result and that no tool node has handed out.
  struct WaitingCall {
    facades::MessageHead head;
    ToolCallBlock call;
  };

  const ResponseReaderOptions options_;
  ResponseObject response_;
  std::string thread_id_;
  bool announced_ = false;
  bool begun_ = false;
  bool ended_ = false;
  bool is_background_ = false;
  bool wants_encrypted_ = false;
  ResponseEvents events_;  // those that are not sent yet
  uint64_t held_ = 0;      // approximate size of the output
  uint64_t counted_ = 0;   // the part of these for which `hold` was called
  std::vector<OpenMessage> open_;
  std::set<std::string, std::less<>> tool_names_;  // the client's tools
  std::vector<WaitingCall> waiting_;
  std::optional<api::ErrorInfo> error_;
};

}  // namespace agent_graph::openai
