// A conversation with every kind of content that requests to providers may contain.
#pragma once

#include <string>

#include "collect.h"

namespace agent_graph::testing {

inline ContentBlock Thought(std::string summary, std::string signature) {
  return ReasoningBlock{
      .summary = std::move(summary), .details = {}, .signature = std::move(signature)};
}

inline ContentBlock CallOf(std::string id, std::string arguments = "{}") {
  return ToolCallBlock{
      .id = std::move(id), .name = "get_time", .arguments_json = std::move(arguments)};
}

inline ContentBlock MediaAt(MediaBlock::Type type, std::string url, std::string mime_type = "") {
  MediaBlock block{.type = type, .media = {}};
  block.media.url = std::move(url);
  block.media.mime_type = std::move(mime_type);
  return block;
}

inline ContentBlock MediaOf(MediaBlock::Type type, std::string mime_type,
                            std::string filename = "") {
  MediaBlock block{.type = type, .media = {}};
  block.media.kind = MediaReference::Kind::kData;
  block.media.data_base64 = "QUJD";
  block.media.mime_type = std::move(mime_type);
  block.media.filename = std::move(filename);
  return block;
}

inline ContentBlock StoredFile(MediaBlock::Type type) {
  MediaBlock block{.type = type, .media = {}};
  block.media.kind = MediaReference::Kind::kFileId;
  block.media.file_id = "f00";
  return block;
}

// A question, two parallel calls after `thoughts`, and their results.
inline models::ModelRequest AfterCalls(std::vector<ContentBlock> thoughts) {
  models::ModelRequest request = Ask("time?");
  thoughts.push_back(CallOf("c1", R"({"z":1})"));
  thoughts.push_back(CallOf("functions.f:2"));
  request.messages.push_back(Of(Role::kAssistant, std::move(thoughts)));
  request.messages.push_back(Message::ToolResult("c1", "\"noon\""));
  request.messages.push_back(Message::ToolResult("functions.f:2", R"({"a":1})", true));
  request.messages.push_back(Message::User("so?"));
  return request;
}

}  // namespace agent_graph::testing
