// Message and its content blocks: what users, models and tools exchange.
//
// All are value types: copy and move them freely. Parts without a fixed structure (tool arguments,
// tool output, metadata) are JSON text, so that this header needs no JSON library: parse them with
// any library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent_graph/export.h"

namespace agent_graph {

enum class Role : uint8_t { kUser, kAssistant, kSystem, kTool };

struct TextBlock {
  std::string text;
  std::string annotations_json = "[]";
};

// A file, image, audio, video or document: a URL, the id of an uploaded file, or inline data.
struct MediaReference {
  enum class Kind : uint8_t { kUrl, kFileId, kData };
  Kind kind = Kind::kUrl;
  std::string url;
  std::string file_id;
  std::string data_base64;
  std::string mime_type;
  std::string filename;
  std::optional<int64_t> size_bytes;
  std::string extra_json = "{}";  // other keys (width, height, duration_ms, page, sha256, ...)
};

struct MediaBlock {
  enum class Type : uint8_t { kImage, kAudio, kVideo, kDocument };
  Type type = Type::kImage;
  MediaReference media;
  std::string extra_json = "{}";  // other keys of the block (alt_text, transcript, pages, ...)
};

// A tool call that the model requests. `remote` calls run in the client, not in the server.
struct ToolCallBlock {
  std::string id;
  std::string name;
  std::string arguments_json = "{}";  // always a JSON object
  bool remote = false;
};

struct ToolResultBlock {
  std::string call_id;
  std::string output_json = "null";  // any JSON value
  bool is_error = false;
};

struct ReasoningBlock {
  std::string summary;
  std::vector<std::string> details;
  std::string signature;  // opaque; must be sent back to the provider unchanged; may be empty
};

// Any other block (data, annotation, error, ...), stored unchanged.
struct OtherBlock {
  std::string type;
  std::string json = "{}";  // the whole block, including `type`
};

using ContentBlock =
    std::variant<TextBlock, MediaBlock, ToolCallBlock, ToolResultBlock, ReasoningBlock, OtherBlock>;

// Token counts of one model call. Exactly one message of the call has them, so that sums are right.
struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
  int64_t total_tokens = 0;
  int64_t reasoning_tokens = 0;
  int64_t cache_creation_input_tokens = 0;
  int64_t cache_read_input_tokens = 0;
};

struct AGENT_GRAPH_API Message {
  std::string id;  // empty: assigned when the message enters a thread
  Role role = Role::kUser;
  std::vector<ContentBlock> content;
  double timestamp = 0;  // Unix seconds; 0: set when the message enters a thread
  std::string metadata_json = "{}";
  std::optional<Usage> usage;
  // Reasoning that a client sent beside the content; it is not sent to models. The reasoning of a
  // model is in `content`, as ReasoningBlocks: on the wire `reasoning` shows it if this is empty.
  std::string reasoning;

  static Message User(std::string text);
  static Message Assistant(std::string text);
  static Message System(std::string text);
  // The result of one tool call; `output_json` is JSON text.
  static Message ToolResult(std::string call_id, std::string output_json, bool is_error = false);

  // The texts of all text blocks, concatenated without a separator.
  std::string Text() const;
  // The tool calls (results) in this message, in order. Pointers into `content`: valid until it
  // changes.
  std::vector<const ToolCallBlock*> ToolCalls() const;
  std::vector<const ToolResultBlock*> ToolResults() const;
};

AGENT_GRAPH_API std::string_view RoleName(Role role);  // "user", "assistant", "system", "tool"
// The inverse of RoleName; nullopt for any other name.
AGENT_GRAPH_API std::optional<Role> ParseRole(std::string_view name);

}  // namespace agent_graph
